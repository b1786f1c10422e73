import { isGatewayError } from "@sluice/core";
import { checkMedia, fitImage, type MediaLimits, probeMedia } from "@sluice/media";
import { describe, expect, test } from "vitest";
import { catchError } from "../../../core/test/support/gateway.js";
import { createFile, createJPEG, createPNG, createVideo, createWEBP } from "../support/media.js";

const MB = 1_048_576;
const createBlob = (bytes: Uint8Array<ArrayBuffer>) => new Blob([bytes]);

describe("fitting images", () => {
  /** Draws noise, which compresses badly, or one color. */
  async function drawImage(width: number, height: number, type: string, fill: string | "noise") {
    const canvas = new OffscreenCanvas(width, height);
    const context = canvas.getContext("2d") as OffscreenCanvasRenderingContext2D;
    if (fill === "noise") {
      const image = context.createImageData(width, height);
      let state = 7;
      for (let at = 0; at < image.data.length; at += 1) {
        state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
        image.data[at] = at % 4 === 3 ? 255 : state >>> 24;
      }
      context.putImageData(image, 0, 0);
    } else {
      context.fillStyle = fill;
      context.fillRect(0, 0, width, height);
    }
    return canvas.convertToBlob({ type, quality: 1 });
  }

  async function readPixel(blob: Blob, x: number, y: number) {
    const bitmap = await createImageBitmap(blob);
    const context = new OffscreenCanvas(bitmap.width, bitmap.height).getContext("2d");
    context?.drawImage(bitmap, 0, 0);
    return [...(context?.getImageData(x, y, 1, 1).data ?? [])];
  }

  test("an image within the limits is returned unchanged", async () => {
    const blob = await drawImage(320, 240, "image/jpeg", "red");
    expect(await fitImage(blob, "first_frame")).toEqual({ blob, width: 320, height: 240, changes: [] });
    const opaque = createBlob(await createPNG(320, 240));
    expect((await fitImage(opaque, "first_frame")).blob).toBe(opaque);
  });

  test("transparency is flattened onto the color", async () => {
    const blob = await drawImage(300, 300, "image/png", "rgba(0, 0, 0, 0)");
    const fitted = await fitImage(blob, "first_frame", { background: "#00ff00" });
    expect(fitted).toMatchObject({
      width: 300,
      height: 300,
      changes: ["flattened", "re-encoded"],
      quality: 0.92,
    });
    expect(await probeMedia(fitted.blob)).toMatchObject({ type: "image/jpeg", hasAlpha: false });
    const [red, green, blue, alpha] = (await readPixel(fitted.blob, 150, 150)) as [
      number,
      number,
      number,
      number,
    ];
    expect(green - red - blue).toBeGreaterThan(240);
    expect(alpha).toBe(255);
  });

  test.each([
    [100, 50, 240, 240, ["padded", "re-encoded"]],
    [300, 100, 300, 240, ["padded", "re-encoded"]],
    [3000, 250, 3000, 375, ["padded", "re-encoded"]],
    [250, 3000, 375, 3000, ["padded", "re-encoded"]],
    [8100, 1100, 8000, 1086, ["downsized", "re-encoded"]],
    [10_000, 500, 8000, 1000, ["downsized", "padded", "re-encoded"]],
  ])("%i × %i becomes %i × %i", fitsTo);

  async function fitsTo(
    width: number,
    height: number,
    toWidth: number,
    toHeight: number,
    changes: readonly string[],
  ) {
    const blob = await drawImage(width, height, "image/jpeg", "black");
    const fitted = await fitImage(blob, "reference_image", { background: "white" });
    expect(fitted).toMatchObject({ width: toWidth, height: toHeight, changes });
    expect(await probeMedia(fitted.blob)).toMatchObject({ width: toWidth, height: toHeight });
    expect(await checkMedia([{ media: fitted.blob, use: "reference_image" }])).toEqual([]);
    // the image stays in the middle, and the padding has the background's color
    expect((await readPixel(fitted.blob, toWidth >> 1, toHeight >> 1))[0]).toBeLessThan(10);
    if (changes.includes("padded")) {
      const beyond = width > height ? [toWidth >> 1, 2] : [2, toHeight >> 1];
      expect((await readPixel(fitted.blob, beyond[0] as number, beyond[1] as number))[0]).toBeGreaterThan(
        245,
      );
    }
  }

  test("quality goes down until the bytes fit, then the size", async () => {
    const blob = await drawImage(600, 600, "image/png", "noise");
    const createLimits = (bytes: number): MediaLimits => ({ kind: "image", formats: ["jpeg"], bytes });
    const high = await fitImage(blob, createLimits(10 * MB));
    const lower = await fitImage(blob, createLimits(high.blob.size - 1));
    expect(lower).toMatchObject({ width: 600, height: 600, changes: ["flattened", "re-encoded"] });
    expect(lower.quality).toBeLessThan(high.quality as number);
    const small = await fitImage(blob, createLimits(20_000));
    expect(small.changes).toEqual(["flattened", "downsized", "re-encoded"]);
    expect(small.blob.size).toBeLessThanOrEqual(20_000);
    expect(small.width).toBeLessThan(600);
    const error = await catchError(fitImage(blob, createLimits(50)));
    expect(String(error)).toContain("can't be made to fit 50 bytes");
  });

  test("a file that is not an image, is broken or too large gets a clear error", async () => {
    const cases = [
      [createBlob(createVideo(640, 360, 4)), "is not an image (video/mp4)"],
      [createFile("a.png", "image/png", "no such thing"), "bytes are something else"],
      [createBlob(createJPEG(100, 100)), "can't be decoded"],
      [
        createBlob(createWEBP("VP8X", 60_000, 60_000)),
        "has 60000 × 60000 px, and at most 100000000 are decoded",
      ],
      [undefined as unknown as Blob, "must be a Blob or a File"],
    ] as const;
    for (const [blob, message] of cases) {
      const error = await catchError(fitImage(blob, "first_frame"));
      expect(isGatewayError(error) && error.name).toBe("ValidationError");
      expect(String(error)).toContain(message);
    }
  });

  test("an abort ends the fitting with the signal's reason", async () => {
    const blob = await drawImage(100, 100, "image/png", "red");
    const aborted = AbortSignal.abort();
    expect(await catchError(fitImage(blob, "first_frame", { signal: aborted }))).toBe(aborted.reason);
    const control = new AbortController();
    const fitting = fitImage(blob, "first_frame", { signal: control.signal });
    control.abort();
    expect(await catchError(fitting)).toBe(control.signal.reason);
  });

  test("an abort between decoding and encoding ends the fitting, too", async () => {
    const control = new AbortController();
    const limits: MediaLimits = {
      kind: "image",
      formats: ["jpeg"],
      get bytes() {
        control.abort();
        return MB;
      },
    };
    const blob = await drawImage(100, 100, "image/png", "red");
    const fitting = fitImage(blob, limits, { signal: control.signal });
    expect(await catchError(fitting)).toBe(control.signal.reason);
  });
});
