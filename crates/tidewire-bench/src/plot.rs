//! Curves as SVG.

use std::path::Path;

use plotters::prelude::*;

/// A curve's name and its points.
pub type Curve = (String, Vec<(f64, f64)>);

/// A diagram.
#[derive(Clone, Debug, Default)]
pub struct Plot {
    /// The file's name, without folder and extension.
    pub file: String,
    /// The heading.
    pub title: String,
    /// The axes' names, with units.
    pub axes: [String; 2],
    /// Whether the x axis is logarithmic.
    pub x_by_factors: bool,
    /// The upper end of the y axis; `None`: the greatest y of the points.
    pub y_max: Option<f64>,
    /// The curves.
    pub curves: Vec<Curve>,
    /// Where there are any: bars instead of curves, in groups with these names; the x of a point is the number of its group.
    pub groups: Vec<String>,
}

const SIZE: (u32, u32) = (760, 440);

impl Plot {
    /// Draws it into a folder, as `FILE.svg`.
    ///
    /// # Errors
    /// The error of the plotting backend.
    pub fn draw(&self, folder: &Path) -> Result<(), String> {
        let path = folder.join(format!("{}.svg", self.file));
        let root = SVGBackend::new(&path, SIZE).into_drawing_area();
        root.fill(&WHITE).map_err(words)?;
        let points = || self.curves.iter().flat_map(|curve| curve.1.iter());
        let x_min = points().map(|point| point.0).fold(f64::INFINITY, f64::min);
        let x_max = points().map(|point| point.0).fold(f64::NEG_INFINITY, f64::max);
        if !x_min.is_finite() || !x_max.is_finite() {
            return root.present().map_err(words);
        }
        let y_max = self.y_max.unwrap_or_else(|| points().map(|point| point.1).fold(0.0, f64::max) * 1.05);
        let y_max = if y_max > 0.0 { y_max } else { 1.0 };
        if !self.groups.is_empty() {
            self.draw_bars(&root, y_max)?;
            return root.present().map_err(words);
        }
        let mut builder = ChartBuilder::on(&root);
        builder.caption(&self.title, ("sans-serif", 18)).margin(12).x_label_area_size(42).y_label_area_size(64);
        if self.x_by_factors {
            let x = (x_min * 0.9..x_max * 1.1).log_scale();
            let mut chart = builder.build_cartesian_2d(x, 0.0..y_max).map_err(words)?;
            self.fill(&mut chart)?;
        } else {
            let mut chart = builder.build_cartesian_2d(0.0..x_max * 1.02, 0.0..y_max).map_err(words)?;
            self.fill(&mut chart)?;
        }
        root.present().map_err(words)
    }

    /// Draws groups of bars side by side.
    fn draw_bars(&self, root: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>, y_max: f64) -> Result<(), String> {
        let mut builder = ChartBuilder::on(root);
        builder.caption(&self.title, ("sans-serif", 18)).margin(12).x_label_area_size(42).y_label_area_size(64);
        let mut chart = builder.build_cartesian_2d(0.0..self.groups.len() as f64, 0.0..y_max).map_err(words)?;
        let [x, y] = &self.axes;
        // A label stands in the middle of its group.
        let name = |x: &f64| {
            let is_middle = (x.fract() - 0.5).abs() < 0.01;
            self.groups.get(*x as usize).filter(|_| is_middle).cloned().unwrap_or_default()
        };
        let mut mesh = chart.configure_mesh();
        mesh.x_desc(x).y_desc(y).light_line_style(WHITE).disable_x_mesh();
        mesh.x_labels(2 * self.groups.len() + 1).x_label_formatter(&name).draw().map_err(words)?;
        let width = 0.8 / self.curves.len().max(1) as f64;
        for (index, (name, points)) in self.curves.iter().enumerate() {
            let color = Palette99::pick(index).to_rgba();
            let bar = |(group, value): &(f64, f64)| {
                let left = group + 0.1 + width * index as f64;
                Rectangle::new([(left, 0.0), (left + width * 0.95, *value)], color.filled())
            };
            let series = chart.draw_series(points.iter().map(bar)).map_err(words)?;
            series.label(name).legend(move |(x, y)| Rectangle::new([(x, y - 5), (x + 18, y + 5)], color.filled()));
        }
        let mut labels = chart.configure_series_labels();
        labels.position(SeriesLabelPosition::UpperRight).background_style(WHITE.mix(0.8));
        labels.border_style(BLACK.mix(0.3)).draw().map_err(words)
    }

    fn fill<'a, X>(
        &self,
        chart: &mut ChartContext<'a, SVGBackend<'a>, Cartesian2d<X, plotters::coord::types::RangedCoordf64>>,
    ) -> Result<(), String>
    where
        X: Ranged<ValueType = f64> + plotters::coord::ranged1d::ValueFormatter<f64>,
    {
        let [x, y] = &self.axes;
        chart.configure_mesh().x_desc(x).y_desc(y).light_line_style(WHITE).draw().map_err(words)?;
        for (index, (name, points)) in self.curves.iter().enumerate() {
            let color = Palette99::pick(index).to_rgba();
            chart
                .draw_series(LineSeries::new(points.iter().copied(), color.stroke_width(2)).point_size(3))
                .map_err(words)?
                .label(name)
                .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], color.stroke_width(2)));
        }
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.8))
            .border_style(BLACK.mix(0.3))
            .draw()
            .map_err(words)
    }
}

fn words(error: impl std::fmt::Display) -> String {
    error.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_are_drawn() {
        let folder = tempfile::tempdir().unwrap();
        for x_by_factors in [false, true] {
            let plot = Plot {
                file: "test".into(),
                title: "A title".into(),
                axes: ["packets a second".into(), "lost, %".into()],
                x_by_factors,
                y_max: None,
                curves: vec![("one".into(), vec![(1.0, 2.0), (100.0, 3.0)]), ("two".into(), vec![])],
                groups: Vec::new(),
            };
            plot.draw(folder.path()).unwrap();
            let text = std::fs::read_to_string(folder.path().join("test.svg")).unwrap();
            assert!(text.contains("A title") && text.contains("lost, %") && text.contains("one"));
            assert!(text.contains("polyline"));
        }
        let bars = Plot {
            file: "bars".into(),
            curves: vec![("one".into(), vec![(0.0, 2.0), (1.0, 3.0)])],
            groups: vec!["left".into(), "right".into()],
            ..Plot::default()
        };
        bars.draw(folder.path()).unwrap();
        let text = std::fs::read_to_string(folder.path().join("bars.svg")).unwrap();
        assert!(text.contains("left") && text.contains("right") && text.contains("one"));
        let empty = Plot { file: "empty".into(), ..Plot::default() };
        empty.draw(folder.path()).unwrap();
    }
}
