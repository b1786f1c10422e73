import { hash } from "../server/hash.js";
import type { Bytes } from "../server/http.js";
import { readSubject, type Scene } from "./art/subject.js";
import { encode, type Motion } from "./h264.js";
import { writeMP4 } from "./mp4.js";
import { type Picture, paintingOf } from "./picture.js";

/** Description of a video. Its picture moves slowly, and ends where it began. */
export interface Clip {
  readonly picture: Picture;
  readonly seconds: number;
}

/** Bytes of a video, with a name for this version of them. */
export interface Film {
  readonly bytes: Bytes;
  readonly etag: string;
}

const FPS = 24;
const SHORT_SIDE = 480;
/** Largest distance that the picture moves, in pixels. */
const TRAVEL = 64;
const MOST_KEPT = 4;

const kept = new Map<string, Film>();

/** Returns the size of a video in pixels, 480 on the short side, and the room that its movement needs. */
export function frameSizeOf(ratio: string): Pick<Picture, "width" | "height" | "extra"> {
  const [across = 16, down = 9] = ratio.split(":").map(Number);
  const shape = Math.min(3, Math.max(1 / 3, across / down || 16 / 9));
  const long = 8 * Math.round((SHORT_SIDE * Math.max(shape, 1 / shape)) / 8);
  const size = shape >= 1 ? { width: long, height: SHORT_SIDE } : { width: SHORT_SIDE, height: long };
  return { ...size, extra: TRAVEL };
}

/** Makes a video, or returns one of the last four again. */
export function filmOf(clip: Clip): Film {
  const key = JSON.stringify(clip);
  const film = kept.get(key) ?? make(clip, key);
  kept.set(key, film);
  for (const oldest of kept.keys()) {
    if (kept.size <= MOST_KEPT) break;
    kept.delete(oldest);
  }
  return film;
}

function make({ picture, seconds }: Clip, key: string): Film {
  const { width, height } = picture;
  const painting = paintingOf(picture);
  const { scene, lake } = readSubject(picture.prompt, picture.base ?? "", picture.seed, picture.index);
  const frames = Math.max(1, Math.round(seconds * FPS));
  const motion = motionOf(scene, lake, frames, { columns: painting.width / 16, rows: painting.height / 16 });
  const bytes = writeMP4(encode(painting, width, frames, motion), { width, height, framesPerSecond: FPS });
  return { bytes, etag: `"${hash(key)}"` };
}

/** First row of the water in each scene that has some, as a share of the height. */
const shores: Partial<Record<Scene, number>> = { sea: 0.6, city: 0.8 };

/** Moves near things more than far ones. Water glitters; under water and in the abstract everything sways. */
function motionOf(
  scene: Scene,
  lake: boolean,
  frames: number,
  grid: { columns: number; rows: number },
): Motion {
  const shore = shores[scene] ?? (lake ? 0.82 : 2);
  const sways = scene === "reef" || scene === "light" || scene === "space";
  const depth = sways ? 0 : 0.35;
  return (frame, column, row) => {
    const turn = (2 * Math.PI * frame) / frames;
    const [x, y] = [column / grid.columns, row / grid.rows];
    const pan = TRAVEL * (0.5 - 0.5 * Math.cos(turn)) * (sways ? 0.45 : 1 - depth + depth * y);
    // whole periods, so that the end meets the start
    const cycles = Math.max(2, Math.round(frames / 36));
    if (sways) {
      const phase = cycles * turn;
      return [pan + 2.2 * Math.sin(phase / 1 + y * 5 + x * 3), 1.6 * Math.cos(phase + x * 6)];
    }
    if (y < shore) return [pan, 0];
    const near = (y - shore) / (1 - shore);
    return [
      pan + (0.7 + 1.6 * near) * Math.sin(cycles * turn + row * 2.4),
      (0.5 + near) * Math.sin(2 * cycles * turn + row * 1.7),
    ];
  };
}
