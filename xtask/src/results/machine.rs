//! What was measured on, and how much memory a process takes, as Linux tells.

use std::fs;

use super::record::Machine;

/// The machine that this runs on.
pub(super) fn describe() -> Machine {
    let cpu = field("/proc/cpuinfo", "model name").unwrap_or_else(|| std::env::consts::ARCH.to_owned());
    let memory_gib = field("/proc/meminfo", "MemTotal").and_then(|text| kibibytes(&text)).map(|kib| kib / 1_048_576.0);
    Machine {
        cpu,
        cores: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        memory_gib: memory_gib.map(f64::round),
        gpu: gpu(),
        system: fs::read_to_string("/proc/sys/kernel/osrelease").map_or_else(
            |_| std::env::consts::OS.to_owned(),
            |release| format!("{} {}", std::env::consts::OS, release.trim()),
        ),
    }
}

/// The first GPU and its driver.
fn gpu() -> Option<String> {
    let query = ["--query-gpu=name,driver_version", "--format=csv,noheader"];
    let output = std::process::Command::new("nvidia-smi").args(query).output().ok()?;
    let line = String::from_utf8_lossy(&output.stdout).lines().next()?.trim().to_owned();
    (output.status.success() && !line.is_empty()).then(|| line.replacen(", ", ", driver ", 1))
}

/// From here on the peak of a process's memory is counted anew; needs no right beyond owning the process.
pub(super) fn forget_peak(process: u32) {
    // Where it cannot be done the peak is that of the whole life, which is never less.
    let _ = fs::write(format!("/proc/{process}/clear_refs"), "5");
}

/// Peak of a process's memory in MiB.
pub(super) fn peak_mib(process: u32) -> Option<f64> {
    field(&format!("/proc/{process}/status"), "VmHWM").and_then(|text| kibibytes(&text)).map(|kib| kib / 1024.0)
}

/// The value of `name : value` in a file of `/proc`.
fn field(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let pairs = text.lines().filter_map(|line| line.split_once(':'));
    pairs.into_iter().find(|(key, _)| key.trim() == name).map(|(_, value)| value.trim().to_owned())
}

fn kibibytes(text: &str) -> Option<f64> {
    text.strip_suffix("kB")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_a_peak() {
        if cfg!(target_os = "linux") {
            assert!(peak_mib(std::process::id()).is_some_and(|mib| mib > 1.0));
            assert!(!describe().cpu.is_empty());
        }
    }
}
