import type { EmulatorOptions } from "@sluice/emulator";
import { BufferTarget, EncodedPacket, EncodedVideoPacketSource, Mp4OutputFormat, Output } from "mediabunny";
import type { Scene } from "./art/scenes.ts";
import { readSubject } from "./art/subject.ts";
import { type Encoded, encode, type Motion } from "./h264.ts";
import { paintingOf } from "./picture.ts";

type Media = NonNullable<EmulatorOptions["media"]>;
type VideoDescription = Parameters<NonNullable<Media["video"]>>[0];

const FPS = 24;
/** Largest distance that the picture of a video moves, in pixels. */
export const TRAVEL = 64;

/** Makes a video: a picture that moves slowly, and ends where it began. */
export async function filmOf({ seconds, ...picture }: VideoDescription): Promise<Blob> {
  const painting = paintingOf({ ...picture, extra: TRAVEL });
  const { scene, lake } = readSubject(picture.prompt, picture.base ?? "", picture.seed, picture.index);
  const frames = Math.max(1, Math.round(seconds * FPS));
  const motion = motionOf(scene, lake, frames, { columns: painting.width / 16, rows: painting.height / 16 });
  return fileOf(encode(painting, picture.width, frames, motion), picture);
}

/** Puts encoded frames into an MP4 with its index in front. */
async function fileOf({ sequence, picture, frames }: Encoded, size: { width: number; height: number }) {
  const target = new BufferTarget();
  const output = new Output({ format: new Mp4OutputFormat({ fastStart: "in-memory" }), target });
  const track = new EncodedVideoPacketSource("avc");
  output.addVideoTrack(track, { frameRate: FPS });
  await output.start();
  const decoderConfig = {
    codec: "avc1.42c01f",
    codedWidth: size.width,
    codedHeight: size.height,
    // the heads, each after its length, as a player's configuration has them
    description: Uint8Array.of(
      ...[1, ...sequence.subarray(1, 4), 0xff, 0xe1, 0, sequence.length, ...sequence],
      ...[1, 0, picture.length, ...picture],
    ),
  };
  for (const [index, frame] of frames.entries()) {
    const bytes = new Uint8Array(4 + frame.length);
    new DataView(bytes.buffer).setUint32(0, frame.length);
    bytes.set(frame, 4);
    const packet = new EncodedPacket(bytes, index === 0 ? "key" : "delta", index / FPS, 1 / FPS);
    await track.add(packet, index === 0 ? { decoderConfig } : undefined);
  }
  await output.finalize();
  return new Blob([withoutTimes(target.buffer ?? new ArrayBuffer())], { type: "video/mp4" });
}

/** Clears the time of day, which the muxer writes into three heads: equal requests get equal films. */
function withoutTimes(file: ArrayBuffer): ArrayBuffer {
  const bytes = new Uint8Array(file);
  for (const head of ["mvhd", "tkhd", "mdhd"]) {
    const times = placeOf(head, bytes) + 8;
    bytes.fill(0, times, times + 8);
  }
  return file;
}

/** Finds a name of four letters. The heads come before the pictures. */
function placeOf(name: string, bytes: Uint8Array): number {
  const letters = [...name].map((letter) => letter.charCodeAt(0));
  return bytes.findIndex((_, at) => letters.every((letter, next) => bytes[at + next] === letter));
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
  const sways = scene === "reef" || scene === "light";
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
