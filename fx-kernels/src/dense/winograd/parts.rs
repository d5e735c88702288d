//! Which tiles are computed at once: of some frames of a result, and those of the frames that these see.

use std::ops::Range;

use super::super::left::Axis;

/// How tiles are taken: in parts of neighbours, of all frames of a volume or some. Images are one frame with the tiles of all.
pub(super) struct Parts {
    frames: Axis,
    volumes: usize,
    /// The tiles of a frame.
    area: usize,
    /// The parts of a frame's tiles, and of a volume's frames.
    across: usize,
    along: usize,
}

/// Some tiles of some frames.
pub(super) struct Part {
    /// The tiles, of those of each frame.
    tiles: Range<usize>,
    /// The frames of the result, and all that they see.
    written: Range<usize>,
    seen: Range<usize>,
    /// What a frame sees.
    frames: Axis,
    /// The tiles of a frame, and the numbers of the first ones of the volume, seen and written.
    area: usize,
    first: [usize; 2],
}

impl Parts {
    /// The tiles of so many images or volumes, of which each frame has `area`.
    pub(super) fn new(frames: Axis, batch: usize, area: usize) -> Self {
        let (volumes, area) = if frames == Axis::ONE { (1, batch * area) } else { (batch, area) };
        Self { frames, volumes, area, across: 1, along: 1 }
    }

    /// The tiles of the result.
    pub(super) fn written(&self) -> usize {
        self.volumes * self.frames.output * self.area
    }

    /// The tiles that are transformed for them.
    pub(super) fn seen(&self) -> usize {
        self.volumes * self.frames.input * self.area
    }

    /// The same in about so many parts. Frames are only parted where each part has a single tile of them: what is seen from both sides is
    /// transformed twice.
    pub(super) fn shared_out(self, parts: usize) -> Self {
        let Self { frames: Axis { output, kernel, .. }, volumes, area, .. } = self;
        let parts = parts.div_ceil(volumes);
        // Where several frames are added up none is a single tile, whose sums are made in another order, unless all are.
        let most = if kernel > 1 && output == 1 { area / 2 } else { area };
        let across = parts.clamp(1, most.max(1));
        let along = if across < area { 1 } else { (parts / area.max(1)).clamp(1, (output / 2).max(1)) };
        Self { across, along, ..self }
    }

    /// How many parts there are.
    pub(super) fn count(&self) -> usize {
        self.volumes * self.across * self.along
    }

    /// One of them.
    pub(super) fn part(&self, index: usize) -> Part {
        let Self { frames, area, across, along, .. } = *self;
        // A volume that is not parted needs no division.
        let (line, column) = if across == 1 { (index, 0) } else { (index / across, index % across) };
        let (volume, line) = if along == 1 { (line, 0) } else { (line / along, line % along) };
        let share = |index: usize, of: usize, all: usize| match of {
            1 => 0..all,
            _ => index * all / of..(index + 1) * all / of,
        };
        let (tiles, written) = (share(column, across, area), share(line, along, frames.output));
        let first = [volume * frames.input * area, volume * frames.output * area];
        Part { tiles, seen: frames.all_seen(&written), written, frames, area, first }
    }
}

impl Part {
    /// The tiles of the result.
    pub(super) fn written(&self) -> usize {
        self.written.len() * self.tiles.len()
    }

    /// The tiles of each frame.
    pub(super) fn in_frame(&self) -> usize {
        self.tiles.len()
    }

    /// The tiles that are transformed.
    pub(super) fn seen(&self) -> usize {
        self.seen.len() * self.tiles.len()
    }

    /// The number of a tile among those of all results.
    pub(super) fn tile(&self, index: usize) -> usize {
        self.among_all(self.first[1], &self.written, index)
    }

    /// Some transformed tiles, of which there is one, a run of neighbours at a time: which ones, and their numbers among all.
    pub(super) fn neighbours(&self, some: Range<usize>) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
        let len = self.tiles.len();
        (self.place(some.start).0..=self.place(some.end - 1).0).map(move |frame| {
            let run = some.start.max(frame * len)..some.end.min((frame + 1) * len);
            let first = self.number(run.start);
            (run.clone(), first..first + run.len())
        })
    }

    /// The number of a transformed tile among all, before it is transformed.
    pub(super) fn number(&self, seen: usize) -> usize {
        self.among_all(self.first[0], &self.seen, seen)
    }

    /// The transformed tile that a tile of the result meets with a tap of its windows along frames, if there is one.
    pub(super) fn met(&self, index: usize, tap: usize) -> Option<usize> {
        let (frame, place) = self.place(index);
        let frame = self.frames.seen(self.written.start + frame, tap)?;
        Some((frame - self.seen.start) * self.tiles.len() + place)
    }

    /// The taps along frames with which any of some tiles of the result meets one, of which there is one at least.
    pub(super) fn taps(&self, tiles: Range<usize>) -> Range<usize> {
        let frame = |index: usize| self.written.start + self.place(index).0;
        let taps = (frame(tiles.start)..=frame(tiles.end - 1)).map(|frame| self.frames.taps(frame));
        taps.reduce(|all, taps| all.start.min(taps.start)..all.end.max(taps.end)).unwrap_or(0..1)
    }

    /// The frames that a window sees.
    pub(super) fn depth(&self) -> usize {
        self.frames.kernel
    }

    /// The number of a tile of some frames among all tiles, where the volume begins with the `first`.
    fn among_all(&self, first: usize, frames: &Range<usize>, index: usize) -> usize {
        let (frame, place) = self.place(index);
        first + (frames.start + frame) * self.area + self.tiles.start + place
    }

    /// The frame of a tile, and where in the part's tiles of that it is.
    fn place(&self, index: usize) -> (usize, usize) {
        // Images need no division.
        let len = self.tiles.len();
        if index < len { (0, index) } else { (index / len, index % len) }
    }
}
