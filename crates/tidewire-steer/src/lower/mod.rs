//! Lowering: from a checked program to operations.

mod field;
mod function;
mod lowering;
mod needs;
mod predicate;
mod steering;

use lowering::Lowering;
pub(crate) use lowering::target;
pub(crate) use needs::Needs;

use crate::error::Error;
use crate::ir::{Builder, Condition, Operation};
use crate::language::Program;
use crate::settings::{Settings, Unsteered};
use crate::walk;
use crate::walk::slot;

/// The operations of a program, which ends behind the last one.
pub(crate) fn lower(program: &Program, settings: &Settings, needs: &Needs) -> Result<Vec<Operation>, Error> {
    let mut lowering = Lowering { builder: Builder::new(slot::FREE), settings, samples: 0, error: None };
    walk::emit(&mut lowering.builder, settings, needs.depth);
    let [dropped, end] = [(); 2].map(|()| lowering.builder.label());
    lowering.function(&program.main, dropped);
    if needs.may_pass_unsteered && settings.unsteered == Unsteered::Flow {
        lowering.builder.jump(slot::TARGET, Condition::NotEqual, target::PASS, end);
        lowering.steer_flow(end);
    }
    lowering.builder.goto(end);
    lowering.builder.place(dropped);
    lowering.builder.set(slot::TARGET, target::DROP);
    lowering.builder.place(end);
    match lowering.error {
        Some((name, message, hint)) => Err(program.error_at(name, message, hint)),
        None => lowering.builder.finish().map_err(|error| error.with_excerpt(&program.text)),
    }
}
