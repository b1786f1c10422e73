import { isGatewayError } from "@sluice/core";
import * as media from "@sluice/media";
import { type MediaProbe, type MediaUse, mediaLimits, toDataURI } from "@sluice/media";
import { mediabunny } from "@sluice/media/mediabunny";
import { describe, expect, test } from "vitest";
import { catchError, decodeBase64 } from "../../../core/test/support/gateway.js";
import {
  CountedBlob,
  concatBytes,
  countMP3Seconds,
  createBMP,
  createBox,
  createFile,
  createFragments,
  createGIF,
  createJPEG,
  createMP3,
  createPNG,
  createSparseFile,
  createVideo,
  createWAV,
  createWEBP,
  toU32,
  toU32LE,
} from "../support/media.js";

const MB = 1_048_576;
const createBlob = (bytes: Uint8Array<ArrayBuffer>) => new Blob([bytes]);
const probeMedia: typeof media.probeMedia = (blob, options) =>
  media.probeMedia(blob, { parser: mediabunny, ...options });
const checkMedia: typeof media.checkMedia = (files, options) =>
  media.checkMedia(files, { parser: mediabunny, ...options });
const checkOne = (media: Blob | MediaProbe, use: MediaUse) => checkMedia([{ media, use }]);
const listRules = async (media: Blob, use: MediaUse) =>
  (await checkOne(media, use)).map(({ rule }) => rule.replace(/^media\./, ""));

describe("probing images", () => {
  const cases = {
    JPEG: [
      createJPEG(640, 480),
      { type: "image/jpeg", format: "jpeg", width: 640, height: 480, hasAlpha: false },
    ],
    "progressive JPEG": [createJPEG(640, 480, { frame: 0xc2 }), { width: 640, height: 480 }],
    "arithmetic JPEG": [createJPEG(640, 480, { frame: 0xc9 }), { width: 640, height: 480 }],
    BMP: [
      createBMP(300, 250),
      { type: "image/bmp", format: "bmp", width: 300, height: 250, hasAlpha: false },
    ],
    "BMP from the top down": [createBMP(300, -250), { width: 300, height: 250 }],
    "BMP with alpha": [createBMP(300, 250, { alpha: true }), { hasAlpha: true }],
    GIF: [createGIF(300, 250), { type: "image/gif", format: "gif", width: 300, height: 250 }],
    "lossy WEBP": [
      createWEBP("VP8 ", 300, 250),
      { type: "image/webp", format: "webp", width: 300, height: 250, hasAlpha: false },
    ],
    "lossless WEBP": [createWEBP("VP8L", 16_384, 250), { width: 16_384, height: 250, hasAlpha: false }],
    "lossless WEBP with alpha": [
      createWEBP("VP8L", 300, 250, true),
      { width: 300, height: 250, hasAlpha: true },
    ],
    "extended WEBP": [createWEBP("VP8X", 70_000, 250), { width: 70_000, height: 250, hasAlpha: false }],
    "extended WEBP with alpha": [
      createWEBP("VP8X", 300, 250, true),
      { width: 300, height: 250, hasAlpha: true },
    ],
  } as const;
  for (const [name, [bytes, expected]] of Object.entries(cases))
    test(`a ${name} has its width, height and alpha`, async () => {
      const probe = await probeMedia(createBlob(bytes));
      expect(probe).toMatchObject({ kind: "image", bytes: bytes.length, ...expected });
      expect(probe.problem).toBeUndefined();
    });

  test.each([
    [{ colourType: 2 }, false],
    [{ colourType: 0 }, false],
    [{ colourType: 4 }, true],
    [{ colourType: 6 }, true],
    [{ colourType: 3 }, false],
    [{ colourType: 3, transparentColour: true }, true],
    [{ colourType: 2, transparentColour: true }, true],
  ] as const)("a PNG of %o has alpha: %s", async (options, hasAlpha) => {
    const file = createBlob(await createPNG(320, 240, options));
    const expected = { type: "image/png", format: "png", width: 320, height: 240, hasAlpha };
    expect(await probeMedia(file)).toMatchObject(expected);
    expect(await listRules(file, "first_frame")).toEqual(hasAlpha ? ["first-frame.alpha"] : []);
    expect(await listRules(file, "chat_image")).toEqual([]);
  });

  test("metadata of any size is skipped, and its thumbnail is not mistaken for the image", async () => {
    const metadata = concatBytes(
      "Exif\0\0",
      new Uint8Array(3 * MB),
      createJPEG(160, 120),
      new Uint8Array(1000),
    );
    const blob = new CountedBlob([createJPEG(4000, 3000, { metadata }), new Uint8Array(2 * MB)]);
    expect(await probeMedia(blob)).toMatchObject({ width: 4000, height: 3000 });
    const small = new CountedBlob([createJPEG(4000, 3000), new Uint8Array(9 * MB)]);
    expect(await probeMedia(small)).toMatchObject({ width: 4000, height: 3000 });
    expect(small.bytesRead).toBeLessThanOrEqual(65_536);
  });

  const whole = {
    jpeg: createJPEG(640, 480),
    bmp: createBMP(2, 2),
    gif: createGIF(9, 9),
    webp: createWEBP("VP8X", 300, 250),
  };
  for (const [format, bytes] of Object.entries(whole))
    test(`a ${format} that is cut in its header has no size, reports this and is refused`, async () => {
      const headerEnd = { jpeg: bytes.length - 14, bmp: 54, gif: 10, webp: 30 }[format] as number;
      for (let end = 18; end < headerEnd; end += 1) {
        const cut = createBlob(bytes.subarray(0, end));
        const probe = await probeMedia(cut);
        expect(probe).toMatchObject({ kind: "image", format, problem: expect.any(String) });
        expect(probe.width).toBeUndefined();
        expect(await listRules(cut, "chat_image")).toContain(
          format === "bmp" ? "chat-image.format" : "chat-image.unreadable",
        );
      }
    });

  test("a PNG that is cut before its pixels has a size, and is refused", async () => {
    const bytes = await createPNG(320, 240);
    expect(await probeMedia(createBlob(bytes.subarray(0, 50)))).toMatchObject({
      width: 320,
      problem: /before/,
    });
    expect(await probeMedia(createBlob(bytes.subarray(0, 30)))).toMatchObject({
      format: "png",
      problem: /header/,
    });
  });

  test("a header that contradicts itself is reported", async () => {
    const noSides = await createPNG(0, 240);
    const noFrame = concatBytes([0xff, 0xd8, 0xff, 0xda], new Uint8Array(20));
    const endless = concatBytes([0xff, 0xd8], new Uint8Array(100_000).fill(0xff));
    const noSignature = concatBytes("RIFF", toU32LE(40), "WEBPVP8L", toU32LE(20), new Uint8Array(20));
    for (const bytes of [noSides, noFrame, endless, noSignature])
      expect(await probeMedia(createBlob(bytes))).toMatchObject({ kind: "image", problem: /contradicts/ });
  });

  test("chunks and segments that declare gigabytes are not read", async () => {
    const head = (await createPNG(320, 240)).subarray(0, 33);
    const lying = createSparseFile("a.png", 5_000_000_000, [
      [0, concatBytes(head, toU32(0xffffffff), "iCCP")],
    ]);
    expect(await probeMedia(lying.file)).toMatchObject({ width: 320, height: 240 });
    expect(lying.reads.bytes).toBeLessThan(200_000);
  });
});

describe("probing videos and audio", () => {
  const cases = {
    "an MP4": [
      createVideo(640, 360, 4),
      { kind: "video", type: "video/mp4", format: "mp4", width: 640, height: 360, durationSeconds: 4 },
    ],
    "an MP4 with its index last": [
      createVideo(640, 360, 4, { indexFirst: false }),
      { width: 640, durationSeconds: 4 },
    ],
    "a MOV": [
      createVideo(640, 360, 2.5, { brand: "qt  " }),
      { kind: "video", type: "video/quicktime", format: "mov", durationSeconds: 2.5 },
    ],
    "a video held upright": [createVideo(640, 360, 4, { rotated: true }), { width: 360, height: 640 }],
    "a video in fragments": [
      createFragments(640, 360, [20, 30]),
      { kind: "video", format: "mp4", width: 640, durationSeconds: 5 },
    ],
    "a video in fragments that begins late": [createFragments(640, 360, [20, 30], 4), { durationSeconds: 5 }],
    "sound alone in an MP4": [
      createVideo(0, 0, 3, { soundOnly: true }),
      { kind: "audio", type: "audio/mp4", format: "m4a", durationSeconds: 3 },
    ],
    "a WAV": [createWAV(2.5), { kind: "audio", type: "audio/wav", format: "wav", durationSeconds: 2.5 }],
    "an MP3": [
      createMP3(100),
      { kind: "audio", type: "audio/mpeg", format: "mp3", durationSeconds: countMP3Seconds(100) },
    ],
    "an MP3 of variable bit rate": [
      createMP3(300, [320, 32, 32, 32]),
      { durationSeconds: countMP3Seconds(300) },
    ],
  } as const;
  for (const [name, [bytes, expected]] of Object.entries(cases))
    test(`${name} has its width, height and duration`, async () => {
      const { durationSeconds = 0, ...rest } = expected as typeof expected & { durationSeconds?: number };
      const probe = await probeMedia(createBlob(bytes));
      expect(probe).toMatchObject({ bytes: bytes.length, ...rest });
      if (durationSeconds) expect(probe.durationSeconds).toBeCloseTo(durationSeconds, 5);
      expect(probe.problem).toBeUndefined();
      expect(probe.durationIsEstimate).toBeUndefined();
    });

  test("the probe of a 100 MB video reads little beyond the index at its end", async () => {
    const bytes = createVideo(1280, 720, 12);
    const [start, index] = [bytes.subarray(0, 20), bytes.subarray(20, bytes.length - 72)];
    const images = 100 * MB;
    const { file, reads } = createSparseFile("a.mp4", 20 + images + index.length, [
      [0, start],
      [20, concatBytes(toU32(images), "mdat")],
      [20 + images, index],
    ]);
    expect(await probeMedia(file)).toMatchObject({ width: 1280, height: 720, durationSeconds: 12 });
    expect(reads.bytes).toBeLessThan(300_000);
    expect(await listRules(file, "reference_video")).toEqual(["reference-video.bytes"]);
  });

  test("a WAV file is read only up to the end of its header", async () => {
    const blob = new CountedBlob([createWAV(200)]);
    expect(await probeMedia(blob)).toMatchObject({ durationSeconds: 200 });
    expect(blob.bytesRead).toBeLessThan(200_000);
  });

  test("an MP3 over 4 MB gets an estimated duration, from a part of it", async () => {
    const { file, reads } = createSparseFile("a.mp3", 60 * MB, [[0, createMP3(200)]]);
    const probe = await probeMedia(file);
    expect(probe.durationIsEstimate).toBe(true);
    expect(probe.durationSeconds).toBeCloseTo((60 * MB) / 16_000, -2);
    expect(reads.bytes).toBeLessThan(300_000);
    const [bytes, seconds] = await checkOne(probe, "reference_audio");
    expect(bytes?.rule).toBe("media.reference-audio.bytes");
    expect(seconds?.message).toMatch(/^must be 1 to 15 s long, got about 39\d\d/);
  });

  test("a WAV file that declares a wrong length is measured by its real length", async () => {
    for (const declaredBytes of [0xffffffff, 900_000])
      expect((await probeMedia(createBlob(createWAV(2, { declaredBytes })))).durationSeconds).toBeCloseTo(
        2,
        2,
      );
    expect(await probeMedia(createBlob(createWAV(0)))).toMatchObject({
      format: "wav",
      problem: expect.any(String),
    });
  });

  test("a video that is cut anywhere is reported and refused", async () => {
    const bytes = createVideo(640, 360, 4);
    for (let end = 20; end < bytes.length - 72; end += 7) {
      const cut = createBlob(bytes.subarray(0, end));
      expect(await probeMedia(cut)).toMatchObject({ format: "mp4", problem: /index/ });
      expect(await listRules(cut, "reference_video")).toEqual(["reference-video.unreadable"]);
    }
  });

  test("a file of some hundred bytes that declares 4 billion samples is refused unread", async () => {
    for (const bytes of [
      createVideo(640, 360, 4, { declaredSamples: 0xffffffff }),
      createVideo(640, 360, 4, { declaredSamples: 0xffffffff, brand: "qt  " }),
      createFragments(640, 360, [10, 0xffffffff]),
    ])
      expect(await probeMedia(createBlob(bytes))).toMatchObject({
        problem: "declares more than 2000000 samples",
      });
  });

  test("an index that declares gigabytes is not read", async () => {
    const start = createVideo(640, 360, 4).subarray(0, 20);
    const { file, reads } = createSparseFile("a.mp4", 4_000_000_000, [
      [0, concatBytes(start, toU32(3_900_000_000), "moov")],
    ]);
    expect(await probeMedia(file)).toMatchObject({ problem: "declares an index of 3900000000 bytes" });
    expect(reads.bytes).toBeLessThan(200_000);
    const beyond = createBlob(concatBytes(start, toU32(3_900_000_000), "moov"));
    expect(await probeMedia(beyond)).toMatchObject({ problem: "ends within its index" });
  });

  test("nested boxes are read to a limited depth", async () => {
    const depth = 50_000;
    const nested = concatBytes(
      ...Array.from({ length: depth }, (_, at) => concatBytes(toU32((depth - at) * 8), "trak")),
    );
    const bytes = concatBytes(createVideo(640, 360, 4).subarray(0, 20), createBox("moov", nested));
    expect(await probeMedia(createBlob(bytes))).toMatchObject({ format: "mp4", problem: expect.any(String) });
  });

  test("a video without a track is reported", async () => {
    const bytes = concatBytes(
      createVideo(640, 360, 4).subarray(0, 20),
      createBox("moov"),
      createBox("mdat", new Uint8Array(9)),
    );
    expect(await probeMedia(createBlob(bytes))).toMatchObject({ problem: expect.any(String) });
  });
});

describe("the type of a file", () => {
  test("follows its bytes, not its name or its declared type", async () => {
    const file = createFile("holiday.png", "image/png", createJPEG(640, 480));
    expect(await probeMedia(file)).toMatchObject({ type: "image/jpeg", name: "holiday.png", format: "jpeg" });
  });

  test("is unknown if its name claims a type that its bytes do not have", async () => {
    for (const [name, type] of [
      ["a.png", ""],
      ["a.mp4", "video/mp4"],
      ["a.mp3", ""],
      ["a.jpg", "image/jpeg"],
    ] as const) {
      const file = createFile(name, type, "no such thing, and long enough to be one");
      expect(await probeMedia(file)).toMatchObject({
        kind: "file",
        format: "",
        problem: /bytes are something else/,
      });
      expect(await listRules(file, "first_frame")).toEqual(["first-frame.format"]);
    }
    const unnamed = new Blob(["no such thing"], { type: "image/png" });
    expect(await probeMedia(unnamed)).toMatchObject({ problem: /declared as image\/png/ });
  });

  test("is not guessed from two letters that a text may begin with", async () => {
    expect(
      await probeMedia(createFile("cars.txt", "", "BMW, Audi and many others, in no order")),
    ).toMatchObject({
      kind: "file",
      type: "text/plain",
      format: "txt",
    });
  });

  test.each([
    ["plan.DOCX", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", "docx"],
    ["talk.key", "application/vnd.apple.keynote", "key"],
    ["readme.md", "text/markdown", "md"],
    ["archive.tar.gz", "application/octet-stream", "gz"],
    ["Makefile", "application/octet-stream", ""],
  ])("%s is a file of type %s by its extension", async (name, type, format) => {
    expect(await probeMedia(createFile(name, "", "x"))).toMatchObject({ kind: "file", type, format });
  });

  test("is the declared one if no table has the format", async () => {
    const webm = createFile("a.webm", "video/webm;codecs=vp9", "x");
    expect(await probeMedia(webm)).toMatchObject({ kind: "video", type: "video/webm", format: "webm" });
  });

  test("is not video for HEIC and AVIF, which use the same container", async () => {
    for (const brand of ["avif", "heic", "mif1"]) {
      const probe = await probeMedia(createBlob(createBox("ftyp", brand, toU32(0), brand)));
      expect(probe).toMatchObject({ kind: "image", format: brand === "avif" ? "avif" : "heic" });
    }
  });

  test("is read from blobs only", async () => {
    for (const none of [undefined, null, "a.png", {}]) {
      const error = await catchError(probeMedia(none as unknown as Blob));
      expect(isGatewayError(error) && error.name).toBe("ValidationError");
      expect(String(error)).toContain("must be a Blob or a File");
    }
  });

  test("cannot be read from a file that is gone, and the error names the fix", async () => {
    const slice = () => ({ arrayBuffer: () => Promise.reject(new DOMException("gone", "NotReadableError")) });
    const gone = { name: "a.mp4", size: 1000, type: "", slice } as unknown as File;
    const asks = [probeMedia, toDataURI, (file: File) => checkOne(file, "file")];
    for (const ask of asks) {
      const error = await catchError(ask(gone));
      expect(isGatewayError(error) && error.name === "ValidationError" && error.issues[0]?.rule).toBe(
        "media.unreadable",
      );
      expect(String(error)).toContain("choose it again");
    }
  });

  test("cannot be read from a file that disappears during the reading", async () => {
    const { file } = createSparseFile("a.mp3", 3 * MB, [[0, createMP3(200)]]);
    const { slice } = file;
    file.slice = (start = 0, end) => {
      if (start > MB) throw new DOMException("gone", "NotFoundError");
      return slice(start, end);
    };
    const error = await catchError(probeMedia(file));
    expect(isGatewayError(error) && error.name === "ValidationError" && error.issues[0]?.rule).toBe(
      "media.unreadable",
    );
  });

  test("is not read further once the signal aborts", async () => {
    const reason = new DOMException("enough", "AbortError");
    const aborted = AbortSignal.abort(reason);
    const unread = new CountedBlob([createJPEG(9, 9)]);
    expect(await catchError(probeMedia(unread, { signal: aborted }))).toBe(reason);
    expect(unread.bytesRead).toBe(0);

    const control = new AbortController();
    const { file, reads } = createSparseFile("a.mp3", 3 * MB, [[0, createMP3(200)]]);
    const { slice } = file;
    let slices = 0;
    file.slice = (...range) => {
      slices += 1;
      if (slices === 3) control.abort(reason);
      return slice(...range);
    };
    expect(await catchError(probeMedia(file, { signal: control.signal }))).toBe(reason);
    expect(slices).toBe(3);
    expect(reads.bytes).toBeLessThan(300_000);
  });
});

describe("checking one file", () => {
  test.each([
    ["first_frame", createJPEG(240, 240), []],
    ["last_frame", createBMP(240, 240), []],
    ["reference_image", createWEBP("VP8X", 8000, 1000, true), []],
    ["reference_image", createJPEG(239, 300), ["side"]],
    ["reference_image", createJPEG(8001, 3000), ["side"]],
    ["reference_image", createJPEG(1921, 240), ["aspect-ratio"]],
    ["reference_image", createJPEG(240, 1920), []],
    ["reference_image", createGIF(300, 300), ["format"]],
    ["chat_image", createGIF(3, 3), []],
    ["chat_image", createBMP(300, 300), ["format"]],
    ["reference_video", createVideo(240, 240, 1), []],
    ["reference_video", createVideo(4096, 512, 15, { brand: "qt  " }), []],
    ["reference_video", createVideo(4097, 1000, 15), ["side"]],
    ["reference_video", createVideo(4000, 400, 15), ["aspect-ratio"]],
    ["reference_video", createVideo(640, 360, 0.9), ["seconds"]],
    ["reference_video", createVideo(640, 360, 15.1), ["seconds"]],
    ["reference_video", createVideo(0, 0, 3, { soundOnly: true }), ["format"]],
    ["reference_video", createWAV(3), ["format"]],
    ["reference_audio", createWAV(1), []],
    ["reference_audio", createWAV(15), []],
    ["reference_audio", createWAV(0.99), ["seconds"]],
    ["reference_audio", createMP3(600), ["seconds"]],
    ["reference_audio", createVideo(0, 0, 3, { soundOnly: true }), ["format"]],
  ] as const)("%s (case %#)", async (use, bytes, names) => {
    const rules = names.map((name) => `${use.replace("_", "-")}.${name}`);
    expect(await listRules(createBlob(bytes), use)).toEqual(rules);
  });

  test.each([
    ["reference_image", 20 * MB, [[0, createJPEG(640, 480)]]],
    ["reference_video", 100 * MB, [[0, createVideo(640, 360, 4, { content: 0 })]]],
    ["file", 100 * MB, []],
  ] as const)("a %s may have %i bytes, and not one more", async (use, maxBytes, parts) => {
    const name = use === "file" ? "a.pdf" : "a";
    const last = use === "reference_video" ? ([[maxBytes - 8, createBox("free")]] as const) : [];
    const exact = createSparseFile(name, maxBytes, [...parts, ...last]).file;
    expect((await listRules(exact, use)).filter((rule) => rule.endsWith("bytes"))).toEqual([]);
    const over = createSparseFile(name, maxBytes + 1, parts).file;
    expect(await listRules(over, use)).toContain(`${use.replace("_", "-")}.bytes`);
  });

  test("documents are accepted by their extension if the list has it", async () => {
    for (const extension of mediaLimits.file.formats)
      expect(await checkOne(createFile(`a.${extension}`, "", "x"), "file")).toEqual([]);
    expect(await listRules(createFile("a.zip", "", "x"), "file")).toEqual(["file.format"]);
    expect(await listRules(createFile("a.pdf", "", ""), "file")).toEqual(["file.bytes"]);
    expect((await checkOne(new Blob(["x"]), "file"))[0]?.message).toContain("new File([blob], name)");
  });

  test("an issue has the path, the problem, the expected value and the name of the rule", async () => {
    expect(
      await checkMedia([
        { media: createBlob(createJPEG(2000, 200)), use: "last_frame", path: "input.media.1" },
      ]),
    ).toEqual([
      {
        path: "input.media.1",
        message: "each side must be 240 to 8000 px, got 2000 × 200",
        rule: "media.last-frame.side",
      },
      {
        path: "input.media.1",
        message: "must be at most 8:1, got 10:1",
        rule: "media.last-frame.aspect-ratio",
      },
    ]);
    expect((await checkOne(createBlob(createGIF(300, 300)), "first_frame"))[0]?.message).toBe(
      "must be JPEG, PNG, BMP or WEBP, got image/gif",
    );
  });
});

describe("checking the files of a request", () => {
  const createClip = (seconds: number) => createBlob(createVideo(640, 360, seconds));
  const createVideos = (...seconds: number[]) =>
    seconds.map((each) => ({ media: createClip(each), use: "reference_video" }) as const);

  test("each file is checked under its own index", async () => {
    const entries = [
      ...createVideos(3),
      { media: createBlob(createGIF(300, 300)), use: "reference_image" } as const,
    ];
    expect(await checkMedia(entries)).toMatchObject([
      { path: "input.media.1", rule: "media.reference-image.format" },
    ]);
  });

  test("videos and audios may last 15 s together, each kind separately", async () => {
    const songs = [8, 7].map(
      (each) => ({ media: createBlob(createWAV(each)), use: "reference_audio" }) as const,
    );
    expect(await checkMedia([...createVideos(7.5, 7.5), ...songs])).toEqual([]);
    const more = { media: createBlob(createWAV(1)), use: "reference_audio" } as const;
    expect(await checkMedia([...createVideos(7.5, 7.6), ...songs, more])).toEqual([
      {
        path: "input.media",
        message: "all videos together must be at most 15 s long, got 15.1 s",
        rule: "media.reference-video.seconds-in-all",
      },
      {
        path: "input.media",
        message: "all audios together must be at most 15 s long, got 16 s",
        rule: "media.reference-audio.seconds-in-all",
      },
    ]);
  });

  test("reference videos and the result may last 30 s together", async () => {
    expect(await checkMedia(createVideos(10), { outputSeconds: 20 })).toEqual([]);
    expect(await checkMedia(createVideos(10), { outputSeconds: -1 })).toEqual([]);
    expect(await checkMedia([], { outputSeconds: 30 })).toEqual([]);
    expect(await checkMedia(createVideos(10.1), { outputSeconds: 20 })).toMatchObject([
      { path: "parameters.duration", rule: "media.input-and-output-seconds" },
    ]);
  });

  test("probes are accepted instead of files, and no file is read twice", async () => {
    const media = await probeMedia(createClip(20));
    const entries = [{ media, use: "reference_video" } as const];
    expect(await checkMedia(entries, { path: "media" })).toMatchObject([
      { path: "media.0", rule: "media.reference-video.seconds" },
    ]);
  });
});

describe("data URIs", () => {
  test.each([0, 1, 2, 3, 393_215, 393_216, 393_217, 1_000_000])(
    "%i bytes survive encoding and decoding",
    async (size) => {
      const bytes = Uint8Array.from({ length: size }, (_, at) => (at * 31 + (at >> 8)) & 0xff);
      const uri = await toDataURI(new Blob([bytes], { type: "image/png" }));
      expect(uri.startsWith("data:image/png;base64,")).toBe(true);
      const decoded = decodeBase64(uri.slice(22));
      expect(decoded.length).toBe(size);
      expect(decoded.every((byte, at) => byte === bytes[at])).toBe(true);
    },
  );

  test("the type is the given type, else the type of the blob, else the type of the bytes", async () => {
    const bytes = createJPEG(9, 9);
    expect(await toDataURI(new Blob([bytes], { type: "image/x" }), { type: "image/jpeg" })).toMatch(
      /^data:image\/jpeg;/,
    );
    expect(await toDataURI(createBlob(bytes))).toMatch(/^data:image\/jpeg;base64,\/9j/);
    expect(await toDataURI(new Blob(["x"]))).toBe("data:application/octet-stream;base64,eA==");
  });

  test("progress is reported in bytes, and the blob is read in chunks", async () => {
    const { file, reads } = createSparseFile("a.bin", 3 * MB, []);
    const reported: number[] = [];
    await toDataURI(file, {
      type: "image/png",
      onProgress: ({ loadedBytes, totalBytes }) => reported.push(loadedBytes, totalBytes),
    });
    expect(reported.slice(0, 2)).toEqual([393_216, 3 * MB]);
    expect(reported.slice(-2)).toEqual([3 * MB, 3 * MB]);
    expect(reads).toEqual({ bytes: 3 * MB, largest: 393_216 });
  });

  test("an abort ends the encoding between two chunks, with the signal's reason", async () => {
    const control = new AbortController();
    const { file, reads } = createSparseFile("a.bin", 30 * MB, []);
    const encoded = toDataURI(file, { signal: control.signal, onProgress: () => control.abort() });
    expect(await catchError(encoded)).toMatchObject({ name: "AbortError" });
    expect(reads.bytes).toBeLessThan(1 * MB);
    expect(await catchError(toDataURI(new Blob(), { signal: control.signal }))).toBe(control.signal.reason);
  });
});
