//! Sweeps a rate: the loss curve, and the greatest rate without loss.

/// How a series is measured.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Rates, packets a second, ascending.
    pub rates: Vec<f64>,
    /// Bisection steps between the last rate that held and the first that did not.
    pub halvings: u32,
    /// Retries of a rate that did not hold: other work on the machine causes loss as well.
    pub again: u32,
    /// How many rates to measure beyond the first that did not hold.
    pub beyond: usize,
}

/// The results of a series.
#[derive(Clone, Debug)]
pub struct Series<P> {
    /// Measurements, by rate.
    pub points: Vec<(f64, P)>,
    /// The greatest rate that held with all below it.
    pub limit: Option<f64>,
    /// Whether every rate held: then the limit is that of the plan or of the generator.
    pub unbounded: bool,
}

/// Whether a rate held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It held.
    Held,
    /// It held, but less was offered than requested: greater rates would show the same.
    HeldLess,
    /// Packets were lost.
    Lost,
}

/// Measures at the plan's rates until one does not hold or cannot be offered; in the first case finds the limit by
/// bisection.
///
/// # Errors
/// The error of `measure`.
pub fn sweep<P, E>(
    plan: &Plan,
    mut measure: impl FnMut(f64) -> Result<P, E>,
    judge: impl Fn(&P) -> Verdict,
) -> Result<Series<P>, E> {
    let mut points = Vec::new();
    let mut attempt = |rate: f64, again: u32| -> Result<(P, Verdict), E> {
        let mut point = measure(rate)?;
        for _ in 0..again {
            if judge(&point) != Verdict::Lost {
                break;
            }
            point = measure(rate)?;
        }
        let verdict = judge(&point);
        Ok((point, verdict))
    };
    let (mut limit, mut failed, mut beyond) = (None, None, 0);
    for &rate in &plan.rates {
        if beyond > plan.beyond {
            break;
        }
        let (point, verdict) = attempt(rate, if failed.is_none() { plan.again } else { 0 })?;
        points.push((rate, point));
        if verdict == Verdict::Lost || failed.is_some() {
            failed = failed.or(Some(rate));
            beyond += 1;
        } else {
            limit = Some(rate);
        }
        if verdict == Verdict::HeldLess {
            break;
        }
    }
    if let (Some(mut low), Some(mut high)) = (limit, failed) {
        for _ in 0..plan.halvings {
            let rate = (low * high).sqrt();
            let (point, verdict) = attempt(rate, plan.again)?;
            points.push((rate, point));
            if verdict != Verdict::Lost {
                low = rate;
            } else {
                high = rate;
            }
        }
        limit = Some(low);
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    Ok(Series { points, limit, unbounded: failed.is_none() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(held: bool) -> Verdict {
        if held { Verdict::Held } else { Verdict::Lost }
    }

    fn plan() -> Plan {
        Plan { rates: vec![1.0, 2.0, 4.0, 8.0, 16.0], halvings: 6, again: 0, beyond: 0 }
    }

    #[test]
    fn the_limit_is_found() {
        let measured = sweep(&plan(), Ok::<_, ()>, |rate| held(*rate <= 5.3)).unwrap();
        let limit = measured.limit.unwrap();
        assert!((5.2..=5.3).contains(&limit), "{limit}");
        assert!(!measured.unbounded);
        assert!(measured.points.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        assert!(measured.points.iter().all(|point| point.0 <= 8.0), "what is far beyond is not measured");
    }

    #[test]
    fn a_series_may_hold_everywhere_or_nowhere() {
        let all = sweep(&plan(), Ok::<_, ()>, |_| held(true)).unwrap();
        assert_eq!((all.limit, all.unbounded, all.points.len()), (Some(16.0), true, 5));
        let none = sweep(&plan(), Ok::<_, ()>, |_| held(false)).unwrap();
        assert_eq!((none.limit, none.unbounded, none.points.len()), (None, false, 1));
        let more = sweep(&Plan { beyond: 2, ..plan() }, Ok::<_, ()>, |_| held(false)).unwrap();
        assert_eq!(more.points.len(), 3);
    }

    #[test]
    fn a_series_ends_where_less_is_offered() {
        let judge = |rate: &f64| if *rate > 4.0 { Verdict::HeldLess } else { Verdict::Held };
        let measured = sweep(&plan(), Ok::<_, ()>, judge).unwrap();
        assert_eq!((measured.limit, measured.unbounded, measured.points.len()), (Some(8.0), true, 4));
    }

    #[test]
    fn a_rate_is_tried_again() {
        let mut calls = 0;
        let measure = |_: f64| {
            calls += 1;
            Ok::<_, ()>(calls != 2)
        };
        let measured = sweep(&Plan { again: 1, ..plan() }, measure, |point| held(*point)).unwrap();
        assert!(measured.unbounded);
    }
}
