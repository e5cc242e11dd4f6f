use tidewire_wire::LinkType;

use super::LiveSettings;
use crate::{ClassicInstruction, Error, SettingError, filter, sys::bpf::Program};
use tidewire_filter::{Filter, FilterEnding, FilterHook};

/// The user's filter, as an expression or a program.
#[derive(Clone, Debug, Default)]
pub(super) enum FilterSpec {
    /// None.
    #[default]
    Everything,
    /// libpcap's language.
    Expression(String),
    /// Classic instructions.
    Program(Vec<ClassicInstruction>),
}

impl FilterSpec {
    /// The filter of the settings.
    pub fn of(settings: &LiveSettings) -> Result<Self, Error> {
        match (&settings.filter, &settings.program) {
            (Some(_), Some(_)) => Err(SettingError::FilterTwice.into()),
            (Some(expression), None) => Ok(Self::Expression(expression.clone())),
            (None, Some(program)) => {
                tidewire_filter::check(program)?;
                Ok(Self::Program(program.clone()))
            }
            (None, None) => Ok(Self::Everything),
        }
    }

    /// Whether there is a filter.
    pub fn is_some(&self) -> bool {
        !matches!(self, Self::Everything)
    }

    /// The classic program for frames of this link type.
    pub fn classic(&self, link: LinkType) -> Result<Option<Vec<ClassicInstruction>>, Error> {
        match self {
            Self::Everything => Ok(None),
            Self::Expression(expression) => Ok(Some(Filter::new(expression)?.classic(link)?)),
            Self::Program(program) => Ok(Some(program.clone())),
        }
    }

    /// Loads the program for Ethernet frames; without a filter, a program that accepts every frame.
    pub fn load(&self, hook: FilterHook, ending: FilterEnding) -> Result<Program, Error> {
        const ALL: &[ClassicInstruction] =
            &[ClassicInstruction { code: 0x06, jump_true: 0, jump_false: 0, k: u32::MAX }];
        match self {
            Self::Everything => filter::load_program(ALL, hook, ending),
            Self::Expression(expression) => filter::load_expression(&Filter::new(expression)?, hook, ending),
            Self::Program(program) => filter::load_program(program, hook, ending),
        }
    }
}
