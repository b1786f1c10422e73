import { checkRequest, models } from "@sluice/core/schemas";
import { describe, expect, test } from "vitest";

const url = "https://media.test/a";
const png = "data:image/png;base64,iVBORw0KGgo=";
const text = { type: "text", text: "A reef at dawn" };
const image = (role?: string, at: unknown = url) => ({ type: "image_url", image_url: { url: at }, role });
const videoPart = { type: "video_url", video_url: { url } };
const sound = { type: "audio_url", audio_url: { url } };

const beta = { model: "beta3.0-video", input: { prompt: "A reef at dawn" } };
const createBeta = (...types: string[]) => ({
  model: "beta3.0-video-prime",
  input: { prompt: "A reef", media: types.map((type) => ({ type, url })) },
});
const with_ = (parameters: object) => ({ ...beta, parameters });
const pro = { model: "gamma-video-1-5-pro-251215", content: [text] };
const createPro = (...content: object[]) => ({ ...pro, content });
const fast = { model: "gamma-video-1-0-pro-fast-251015", content: [text] };
const createFast = (...content: object[]) => ({ ...fast, content });
const two = { model: "gamma-video-2.0", content: [text] };
const createTwo = (...content: object[]) => ({ ...two, content });
const small = { model: "gamma-video-fast", content: [text] };

const accepted: [string, object][] = [
  ["beta: a prompt alone", beta],
  ["beta: a frame alone", { model: "beta3.0-video", input: { media: [{ type: "first_frame", url: png }] } }],
  ["beta: both frames", createBeta("last_frame", "first_frame")],
  [
    "beta: as many references as there may be",
    createBeta(
      ...Array(10).fill("reference_image"),
      ...Array(5).fill("reference_video"),
      ...Array(5).fill("reference_audio"),
    ),
  ],
  ["beta: a file", createBeta("file")],
  ["beta: a web page", createBeta("link")],
  [
    "beta: every parameter",
    with_({
      resolution: "480P",
      ratio: "9:16",
      duration: -1,
      audio: false,
      prompt_extend: false,
      seed: 2_147_483_647,
      watermark: true,
    }),
  ],
  ["beta: 5,000 characters outside the first plane", { ...beta, input: { prompt: "🚤".repeat(5000) } }],
  [
    "1-5-pro: every field",
    {
      ...pro,
      ratio: "adaptive",
      resolution: "1080p",
      duration: -1,
      generate_audio: true,
      watermark: true,
      seed: -1,
      camera_fixed: true,
    },
  ],
  ["1-5-pro: both frames", createPro(text, image("first_frame"), image("last_frame"))],
  ["1-0-pro-fast: text", { ...fast, ratio: "21:9", duration: 2, seed: 4_294_967_295, camera_fixed: true }],
  ["1-0-pro-fast: an image", { ...createFast(image("first_frame"), text), ratio: "adaptive" }],
  [
    "2.0: every field",
    {
      ...two,
      generate_audio: false,
      resolution: "4k",
      ratio: "adaptive",
      duration: 15,
      tools: [{ type: "web_search" }],
      watermark: false,
      return_last_frame: true,
    },
  ],
  ["2.0: an asset alone", createTwo(image("reference_image", "asset://a-1"))],
  ["2.0: a video alone", createTwo(videoPart)],
  ["2.0: everything together", createTwo(text, image("first_frame"), videoPart, sound)],
  ["fast: 720p", { ...small, resolution: "720p" }],
];

const refused: [string, object, string, string][] = [
  ["beta: no input", { model: "beta3.0-video" }, "input", "beta.input"],
  ["beta: neither prompt nor media", { ...beta, input: {} }, "input.prompt", "beta.prompt-required"],
  [
    "beta: an empty prompt alone",
    { ...beta, input: { prompt: " " } },
    "input.prompt",
    "beta.prompt-required",
  ],
  [
    "beta: 5,001 characters",
    { ...beta, input: { prompt: "a".repeat(5001) } },
    "input.prompt",
    "beta.input.prompt",
  ],
  ["beta: an unknown medium", createBeta("poster"), "input.media.0.type", "beta.input.media.type"],
  [
    "beta: two first frames",
    createBeta("first_frame", "first_frame"),
    "input.media",
    "beta.first-frame-count",
  ],
  [
    "beta: two last frames",
    createBeta("first_frame", "last_frame", "last_frame"),
    "input.media",
    "beta.last-frame-count",
  ],
  ["beta: a last frame alone", createBeta("last_frame"), "input.media", "beta.last-frame-needs-first"],
  ...["reference_image", "reference_video", "reference_audio", "file", "link"].map(
    (type): [string, object, string, string] => [
      `beta: a frame beside ${type}`,
      createBeta("first_frame", type),
      "input.media",
      "beta.frames-exclude-references",
    ],
  ),
  ["beta: a file and a link", createBeta("file", "link"), "input.media", "beta.one-document"],
  ["beta: two files", createBeta("file", "file"), "input.media", "beta.one-document"],
  [
    "beta: eleven images",
    createBeta(...Array(11).fill("reference_image")),
    "input.media",
    "beta.reference-image-count",
  ],
  [
    "beta: six videos",
    createBeta(...Array(6).fill("reference_video")),
    "input.media",
    "beta.reference-video-count",
  ],
  [
    "beta: six audios",
    createBeta(...Array(6).fill("reference_audio")),
    "input.media",
    "beta.reference-audio-count",
  ],
  ...["blob:https://a.test/1", "file:///a.gif", "data:image/gif;base64,R0lGODlh", "a.png", "asset://a-1"].map(
    (at): [string, object, string, string] => [
      `beta: a frame at ${at}`,
      { ...beta, input: { media: [{ type: "first_frame", url: at }] } },
      "input.media.0.url",
      "beta.input.media.url",
    ],
  ),
  ...[
    "data:video/mp4;base64,AAAA",
    "http://localhost:8080/a.mp4",
    "http://127.0.0.1/a.mp4",
    "http://2130706433/a.mp4",
    "http://10.1.2.3/a",
    "http://172.31.0.1/a",
    "http://192.168.0.1/a",
    "http://169.254.169.254/a",
    "http://100.64.0.1/a",
    "http://[::1]/a",
    "http://[fd00::1]/a",
    "http://[::ffff:10.0.0.1]/a",
    "http://printer.local/a",
    "https://",
  ].map((at): [string, object, string, string] => [
    `beta: a video at ${at}`,
    { ...beta, input: { media: [{ type: "reference_video", url: at }] } },
    "input.media.0.url",
    "beta.input.media.url",
  ]),
  [
    "beta: gamma's case",
    with_({ resolution: "1080p" }),
    "parameters.resolution",
    "beta.parameters.resolution",
  ],
  ["beta: 21:9", with_({ ratio: "21:9" }), "parameters.ratio", "beta.parameters.ratio"],
  ...[1, 31, 0, -2, 2.5].map((duration): [string, object, string, string] => [
    `beta: ${duration} seconds`,
    with_({ duration }),
    "parameters.duration",
    "beta.parameters.duration",
  ]),
  ["beta: audio in words", with_({ audio: "on" }), "parameters.audio", "beta.parameters.audio"],
  ["beta: a seed below 0", with_({ seed: -1 }), "parameters.seed", "beta.parameters.seed"],
  ["beta: gamma's fields", { ...beta, content: [text] }, "content", "beta.content"],
  ["1-5-pro: no content", { ...pro, content: undefined }, "content", "1-5-pro.content"],
  ["1-5-pro: empty content", createPro(), "content", "1-5-pro.one-text"],
  ["1-5-pro: two texts", createPro(text, text), "content", "1-5-pro.one-text"],
  ["1-5-pro: images without a text", createPro(image("first_frame")), "content", "1-5-pro.one-text"],
  ["1-5-pro: an image without a role", createPro(text, image()), "content.1.role", "1-5-pro.content.role"],
  [
    "1-5-pro: another role",
    createPro(text, image("reference_image")),
    "content.1.role",
    "1-5-pro.content.role",
  ],
  [
    "1-5-pro: two first frames",
    createPro(text, image("first_frame"), image("first_frame")),
    "content",
    "1-5-pro.first-frame-count",
  ],
  [
    "1-5-pro: an image as a data URI",
    createPro(text, image("first_frame", png)),
    "content.1.image_url.url",
    "1-5-pro.content.image-url.url",
  ],
  ["1-5-pro: a video", createPro(text, videoPart), "content.1.type", "1-5-pro.content.type"],
  [
    "1-5-pro: camera_fixed with an image",
    { ...createPro(text, image("first_frame")), camera_fixed: false },
    "camera_fixed",
    "1-5-pro.camera-fixed",
  ],
  ["1-5-pro: 3 seconds", { ...pro, duration: 3 }, "duration", "1-5-pro.duration"],
  ["1-5-pro: 13 seconds", { ...pro, duration: 13 }, "duration", "1-5-pro.duration"],
  ["1-5-pro: beta's case", { ...pro, resolution: "720P" }, "resolution", "1-5-pro.resolution"],
  ["1-5-pro: a seed below -1", { ...pro, seed: -2 }, "seed", "1-5-pro.seed"],
  ["1-0-pro-fast: adaptive without an image", { ...fast, ratio: "adaptive" }, "ratio", "1-0-pro-fast.ratio"],
  ["1-0-pro-fast: a length of its own", { ...fast, duration: -1 }, "duration", "1-0-pro-fast.duration"],
  ["1-0-pro-fast: 13 seconds", { ...fast, duration: 13 }, "duration", "1-0-pro-fast.duration"],
  [
    "1-0-pro-fast: a last frame",
    createFast(text, image("last_frame")),
    "content.1.role",
    "1-0-pro-fast.content.role",
  ],
  [
    "1-0-pro-fast: two images",
    createFast(text, image("first_frame"), image("first_frame")),
    "content",
    "1-0-pro-fast.one-image",
  ],
  [
    "1-0-pro-fast: camera_fixed with an image",
    { ...createFast(text, image("first_frame")), camera_fixed: true },
    "camera_fixed",
    "1-0-pro-fast.camera-fixed",
  ],
  [
    "1-0-pro-fast: generate_audio",
    { ...fast, generate_audio: true },
    "generate_audio",
    "1-0-pro-fast.generate-audio",
  ],
  ["2.0: empty content", createTwo(), "content", "2-0.content-empty"],
  ["2.0: sound alone", createTwo(sound), "content", "2-0.audio-needs-image"],
  ["2.0: sound and text", createTwo(text, sound), "content", "2-0.audio-needs-image"],
  [
    "2.0: an asset without an id",
    createTwo(image("reference_image", "asset://")),
    "content.0.image_url.url",
    "2-0.content.image-url.url",
  ],
  [
    "2.0: the temporary address of an asset",
    createTwo(image("reference_image", { forDisplayOnly: url })),
    "content.0.image_url.url",
    "2-0.content.image-url.url",
  ],
  [
    "2.0: web search with an image",
    { ...createTwo(text, image("first_frame")), tools: [{ type: "web_search" }] },
    "tools",
    "2-0.tools-need-text-only",
  ],
  ["2.0: another tool", { ...two, tools: [{ type: "function" }] }, "tools.0.type", "2-0.tools.type"],
  ["2.0: 3 seconds", { ...two, duration: 3 }, "duration", "2-0.duration"],
  ["2.0: a length of its own", { ...two, duration: -1 }, "duration", "2-0.duration"],
  ["2.0: 4K", { ...two, resolution: "4K" }, "resolution", "2-0.resolution"],
  ["fast: 4k", { ...small, resolution: "4k" }, "resolution", "fast.resolution"],
  ["fast: 1080p", { ...small, resolution: "1080p" }, "resolution", "fast.resolution"],
  [
    "fast: the last frame",
    { ...small, return_last_frame: true },
    "return_last_frame",
    "fast.return-last-frame",
  ],
];

const warned: [string, object, string[]][] = [
  ["beta: names of media that are there", createBeta("reference_image"), []],
  [
    "beta: names beyond the media",
    { ...beta, input: { prompt: "Image 1 meets Image 2", media: [{ type: "reference_image", url }] } },
    ["prompt-names-missing-media"],
  ],
  ["beta: a file beside a reference", createBeta("file", "reference_image"), ["document-with-references"]],
  [
    "1-5-pro: sound with images",
    { ...createPro(text, image("first_frame")), generate_audio: true },
    ["audio-with-images"],
  ],
  ["1-5-pro: a last frame alone", createPro(text, image("last_frame")), ["last-frame-alone"]],
  [
    "2.0: fields that are not listed",
    { ...two, seed: 1, camera_fixed: true },
    ["seed-unlisted", "camera-fixed-unlisted"],
  ],
  [
    "2.0: assets as a video and a sound, which the spec shows for images",
    createTwo(
      { type: "video_url", video_url: { url: "asset://a-1" } },
      { type: "audio_url", audio_url: { url: "asset://b-1" } },
    ),
    ["asset-unlisted", "asset-unlisted"],
  ],
  [
    "2.0: videos and sounds in shapes of their own",
    createTwo(
      { type: "video_url", video_url: "https://media.test/a" },
      { type: "audio_url", audio_url: { data: "AAEC" } },
    ),
    ["unknown-field", "video-url", "url"],
  ],
  [
    "2.0: an address that nobody can load",
    createTwo({ type: "video_url", video_url: { url: "blob:x" } }),
    ["url"],
  ],
  ["2.0: a kind of item that is not known", createTwo(text, { type: "video" }, sound), ["type"]],
  ["2.0: a role that is not known", createTwo(image("mood_board")), ["role-unlisted"]],
];

const videoModels = Object.values(models).filter((model) => model.kind === "video");

describe("the rules of the video models (spec, POST /v1/video/generations)", () => {
  test.each(accepted)("accept %s", (_, request) => {
    expect(checkRequest(request)).toEqual({ issues: [], warnings: [] });
  });
  test("refuse an unknown model", () => {
    expect(checkRequest({ model: "beta4.0-video" }).issues).toMatchObject([{ path: "model", rule: "model" }]);
  });
  test.each(refused)("refuse %s", (_, request, path, rule) => {
    const { issues } = checkRequest(request);
    expect(issues.map((issue) => [issue.path, issue.rule])).toEqual([[path, `video.${rule}`]]);
    expect(issues[0]?.message).not.toMatch(/undefined|\[object|Invalid type/);
  });
  test.each(warned)("warn about %s", (_, request, names) => {
    const { issues, warnings } = checkRequest(request);
    expect(issues).toEqual([]);
    expect(warnings.map(({ rule }) => rule.split(".").at(-1))).toEqual(names);
  });
  test.each(videoModels)(
    "include every resolution and ratio of $id",
    ({ id: model, resolutions, ratios }) => {
      const isBeta = model.startsWith("beta");
      for (const resolution of resolutions)
        expect(
          checkRequest(
            isBeta ? { ...beta, model, parameters: { resolution } } : { model, content: [text], resolution },
          ).issues,
        ).toEqual([]);
      for (const ratio of ratios.filter((name) => name !== "adaptive"))
        expect(
          checkRequest(isBeta ? { ...beta, model, parameters: { ratio } } : { model, content: [text], ratio })
            .issues,
        ).toEqual([]);
    },
  );
});
