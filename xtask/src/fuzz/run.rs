//! The programs of the crates that bodies are compiled in: what became of each body.

use std::panic::resume_unwind;
use std::process::Command;
use std::{env, thread};

use super::fault::{Fault, Kind};
use super::package::{Bodies, CRATES, Faults, Form, Packages};
use crate::failure::{Failure, Result};
use crate::progress::Progress;

impl Packages<'_> {
    /// Runs bodies to the last, those of all crates side by side.
    pub(super) fn run(&self, wanted: &Bodies) -> Result<Faults> {
        let _spinner = Progress::spinner(format!("fuzz: running {} bodies", wanted.len()));
        let run_crate = &|at: usize| {
            let numbers = wanted.keys().copied().filter(|number| number % CRATES == at);
            self.run_crate(at, numbers.collect())
        };
        let found: Vec<Result<Faults>> = thread::scope(|scope| {
            let running: Vec<_> = (0..CRATES).map(|at| scope.spawn(move || run_crate(at))).collect();
            running.into_iter().map(|crate_| crate_.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
        });
        let mut faults = Faults::new();
        for one in found {
            faults.extend(one?);
        }
        Ok(faults)
    }

    /// The same of one crate, which is started again where a body takes the others down with it.
    fn run_crate(&self, at: usize, mut wanted: Vec<usize>) -> Result<Faults> {
        let program = format!("debug/fuzz-{}{}", Form::Traced.name(at), env::consts::EXE_SUFFIX);
        let program = self.target.join(program);
        let threads = thread::available_parallelism().map_or(1, |all| (all.get() / CRATES).max(1));
        let mut faults = Faults::new();
        while !wanted.is_empty() {
            let mut command = Command::new(&program);
            command.args(wanted.iter().map(ToString::to_string)).env("OMP_NUM_THREADS", threads.to_string());
            let output = command.output().map_err(|error| Failure::file("start", &program, &error))?;
            let mut running = None;
            for line in String::from_utf8_lossy(&output.stdout).lines() {
                let Some((number, told)) = line.split_once(' ') else { continue };
                let Ok(number) = number.parse::<usize>() else { continue };
                running = Some(number).filter(|_| told == "begins");
                wanted.retain(|one| *one != number);
                faults.extend(Fault::told(told).map(|fault| (number, fault)));
            }
            if let Some(number) = running {
                let said = format!("{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
                faults.insert(number, Fault { kind: Kind::Crashes, said });
            }
        }
        Ok(faults)
    }
}
