graph Encoder(self: module<crate::Encoder>, xs: f32[B, T, D], mask: option<tensor>, train: rust<bool>) {
  %layers = get_attr[layers](self) : list<module<crate::Layer>>  @ src/encoder.rs:30 as layers
  %ys = for["(%0, %1)"](%layers, xs) : f32[B, T, D]  @ src/encoder.rs:30 (i: rust<usize>, layer: module<crate::Layer>, acc: f32[B, T, D]) {
    %norm = get_attr[norm](layer) : module<LayerNorm>  @ src/encoder.rs:31 as norm
    %h = call_module[LayerNorm](%norm, acc) : f32[B, T, D]  @ src/encoder.rs:31 as norm
    %last = rust["$0 + 1 == $1.len()"](i, %layers) : rust<bool>  @ src/encoder.rs:32
    %dropped = if(train) : f32[B, T, D]  @ src/encoder.rs:33 {
      %p = dropout(%h, 0.1, true) : f32[B, T, D]  @ src/encoder.rs:33 as dropout
      yield %p
    } else {
      yield %h
    }
    %seen = rust["println!(\"{i} {}\", $1)", io, opaque("a macro that the tracer does not know")](i, %last)  @ src/encoder.rs:35
    yield %dropped
  }
  %length = rust["$0.size3()", fallible](%ys) : (rust<i64>, rust<i64>, rust<i64>)  @ src/encoder.rs:37
  %t = tuple_get[1](%length) : rust<i64>  @ src/encoder.rs:37
  %n = while(%t) : rust<i64>  @ src/encoder.rs:38 (i_1: rust<i64>) {
    %odd = rust["$0 % 2 == 1"](i_1) : rust<bool>  @ src/encoder.rs:38
    yield %odd
  } do (i_2: rust<i64>) {
    %half = rust["$0 / 2"](i_2) : rust<i64>  @ src/encoder.rs:39
    yield %half
  }
  %pooled = mean.dim(%ys, [1], false, `Kind::Float`) : f32[B, D]  @ src/encoder.rs:41
  yield %pooled, %n
}
