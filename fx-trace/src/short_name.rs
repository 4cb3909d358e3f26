//! Names of kernels as people say them: without arguments, template arguments and results.

/// Shortens the name of an operator or a kernel, as HTA's `shorten_name` does.
///
/// ```
/// let name = "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>(at::native::ReduceOp<float>)";
/// assert_eq!(fx_trace::shorten_name(name), "at::native::reduce_kernel");
/// ```
///
/// Copies and fills keep their whole name, whose brackets say from where to where. Of the rest everything in balanced `<..>`
/// and `(..)` goes, `->` too, and what stands in front of the last space.
pub fn shorten_name(name: &str) -> String {
    let is_memory = ["Memcpy", "Memset", "hipMemcpy", "hipMemset", "dma"].iter().any(|start| name.starts_with(start));
    if is_memory || !name.contains(['<', '(']) {
        return name.to_owned();
    }
    let mut kept = String::with_capacity(name.len());
    for letter in name.replace("->", "").chars() {
        let opening = match letter {
            '>' => '<',
            ')' => '(',
            _ => {
                kept.push(letter);
                continue;
            }
        };
        // Back to the bracket that it closes; to the beginning where there is none.
        kept.truncate(kept.rfind(opening).unwrap_or(0));
    }
    kept.rsplit(' ').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::shorten_name;

    #[test]
    fn names() {
        let cases = [
            ("aten::add", "aten::add"),
            ("Memcpy HtoD (Pageable -> Device)", "Memcpy HtoD (Pageable -> Device)"),
            ("void cub::DeviceScanKernel<cub::A<int>, 5>(int*, std::pair<int, int>)", "cub::DeviceScanKernel"),
            (
                "autograd::engine::evaluate_function: AddmmBackward0",
                "autograd::engine::evaluate_function: AddmmBackward0",
            ),
            ("f(x)->y", "fy"),
            ("a > b (c)", ""),
            ("## forward: (a) ##", "##"),
        ];
        for (name, short) in cases {
            assert_eq!(shorten_name(name), short, "{name}");
        }
    }
}
