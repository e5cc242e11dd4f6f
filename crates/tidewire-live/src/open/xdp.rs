//! AF_XDP on every interface.

use std::sync::Arc;

use super::opening::{Opening, kernel_settings};
use crate::{
    Error, Interface, Live, LiveSettings,
    session::{Attached, Connected},
    xsk::XdpEngine,
};

pub(super) fn open(settings: &LiveSettings, interfaces: &[Interface]) -> Result<Live, Error> {
    let choose = |(number, interface)| XdpEngine::choose(&settings.on(number), interface);
    let engines = interfaces.iter().enumerate().map(choose);
    let engines = engines.collect::<Result<Vec<_>, _>>()?;
    let workers = settings.workers.max(1);
    let of_worker = |worker| -> usize {
        let plans = engines.iter().map(XdpEngine::plan);
        plans.map(|plan| plan.rings(worker) * plan.place_bytes()).sum()
    };
    let mut opening = Opening::new(&(0..workers).map(of_worker).collect::<Vec<_>>())?;
    for (number, (engine, interface)) in engines.iter().zip(interfaces).enumerate() {
        let plan = engine.plan();
        let places = (0..workers).map(|worker| opening.places(worker, plan.rings(worker), plan.place_bytes()));
        let capture = engine.open(kernel_settings(settings), number as u16, places.collect::<Result<Vec<_>, _>>()?)?;
        let connected = Connected {
            interface: Interface { counts: capture.before, ..interface.clone() },
            method: engine.method(),
            description: capture.description,
            kernel: Some(Arc::clone(capture.kernel.kernel())),
            // Its programs count that.
            steered_out: None,
            attached: Some(Attached::Xdp { _attachment: capture.attachment }),
        };
        opening.add(capture.rings, connected);
    }
    Ok(opening.live(settings))
}
