import type { Rule } from "./rule.ts";

/*
 * Twins of a value: absent, `null`, `""`, `[]`, `{}` and a value of another type, in the place of each field of a
 * request. The verdict on each is decided here, once, for the client, the emulator and the proxy.
 *
 * What the spec says decides. Where it is silent: an optional field may be absent, and is never null; a required text
 * may be empty, since the spec names no least length; a list may be empty where it says nothing of its items; an object
 * whose fields all have defaults may be `{}`, and is never a list.
 */

/** The values that stand in the place of a field, by their names. `wrong` is a number, and a text for a number. */
export const twins = { absent: undefined, null: null, '""': "", "[]": [], "{}": {}, wrong: 7 } as const;
export type Twin = keyof typeof twins;

/** A request with every field of its models, and the verdict on the twins of each field. */
export interface TwinTable extends Pick<Rule, "endpoint"> {
  /** The models with these fields; the request is sent as each of them. */
  readonly models: readonly string[];
  readonly request: object;
  /** The accepted twins of a field, by its path, with spaces between them. All that is not listed is refused. */
  readonly accepted: Readonly<Record<string, string>>;
  /** Twins that the proxy accepts where these are others, and why. */
  readonly proxy?: Readonly<Record<string, { readonly twins: string; readonly why: string }>>;
}

const url = "https://img.example.com/a.png";
const call = { id: "c-1", type: "function", function: { name: "weather", arguments: "{}" } };
const chat = {
  messages: [
    { role: "system", content: [{ type: "text", text: "Answer in JSON" }], name: "app" },
    { role: "user", content: "Hi" },
    { role: "assistant", content: "Hm", reasoning_content: "A wish", tool_calls: [call] },
    { role: "tool", content: "12 °C", tool_call_id: "c-1" },
  ],
  max_tokens: 5,
  temperature: 1,
  top_p: 0.95,
  n: 1,
  stream: false,
  stream_options: { include_usage: true },
};
const chatTwins = {
  "messages.0": "absent",
  "messages.0.content": '"" []',
  "messages.0.content.0": "absent",
  "messages.0.content.0.text": '""',
  "messages.0.name": 'absent ""',
  "messages.1": "absent",
  "messages.1.content": '"" []',
  "messages.2": "absent",
  // a message with calls needs no content: OpenAI clients send null or omit `content`
  "messages.2.content": 'absent null "" []',
  "messages.2.reasoning_content": 'absent null ""',
  // as responses write it: "array or null"
  "messages.2.tool_calls": "absent null []",
  "messages.2.tool_calls.0": "absent",
  "messages.2.tool_calls.0.id": '""',
  "messages.2.tool_calls.0.function.name": '""',
  "messages.2.tool_calls.0.function.arguments": '""',
  "messages.3": "absent",
  "messages.3.content": '"" []',
  max_tokens: "absent",
  temperature: "absent",
  top_p: "absent",
  // OpenAI clients have null in the type of this field
  n: "absent null",
  stream: "absent",
  stream_options: "absent {}",
  "stream_options.include_usage": "absent",
};
const tools = {
  tools: [
    {
      type: "function",
      function: { name: "weather", description: "", parameters: { type: "object" }, strict: true },
    },
  ],
  tool_choice: { type: "function", function: { name: "weather" } },
};
const toolTwins = {
  tools: "absent []",
  "tools.0": "absent",
  "tools.0.function.description": 'absent ""',
  "tools.0.function.parameters": "{}",
  // a JSON Schema can contain anything
  "tools.0.function.parameters.type": 'absent null "" [] {} wrong',
  "tools.0.function.strict": "absent",
  tool_choice: "absent",
};
const penalties = { frequency_penalty: 1, presence_penalty: 1 };
const penaltyTwins = { frequency_penalty: "absent", presence_penalty: "absent" };
const stopTwins = { stop: 'absent "" []', "stop.0": 'absent ""' };

const frames = [
  { type: "text", text: "A river" },
  { type: "image_url", image_url: { url }, role: "first_frame" },
];
const shots = { ratio: "16:9", resolution: "720p", duration: 5, watermark: true, seed: 1 };
const shotTwins = {
  "content.0.text": '""',
  ratio: "absent",
  resolution: "absent",
  duration: "absent",
  watermark: "absent",
  seed: "absent",
};
const ANY = 'absent null "" [] {} wrong';
const chats = "/v1/chat/completions";
const videos = "/v1/video/generations";

export const twinTables: readonly TwinTable[] = [
  {
    endpoint: chats,
    models: ["alpha-v4.1-flash"],
    request: {
      ...chat,
      messages: [
        ...chat.messages,
        { role: "user", content: [{ type: "image_url", image_url: { url, detail: "low" } }] },
      ],
      ...tools,
      ...penalties,
      thinking: { type: "disabled" },
      reasoning_effort: "low",
      response_format: { type: "json_object" },
      stop: ["x"],
      user_id: "user-1",
    },
    accepted: {
      ...chatTwins,
      ...toolTwins,
      ...penaltyTwins,
      ...stopTwins,
      "messages.4": "absent",
      "messages.4.content": '"" []',
      "messages.4.content.0": "absent",
      "messages.4.content.0.image_url.detail": "absent",
      // "object or null", and its type has a default
      thinking: "absent null {}",
      "thinking.type": "absent",
      reasoning_effort: "absent",
      // its type has a default
      response_format: "absent {}",
      "response_format.type": "absent",
      user_id: "absent",
    },
  },
  {
    endpoint: chats,
    models: ["gamma-chat-1-6-251015"],
    request: { ...chat, ...penalties, stop: "x" },
    accepted: { ...chatTwins, ...penaltyTwins, stop: 'absent ""' },
  },
  {
    endpoint: chats,
    models: ["delta-5.3"],
    request: { ...chat, ...tools, thinking: { type: "enabled" }, reasoning_effort: "low", stop: ["x"] },
    accepted: {
      ...chatTwins,
      ...toolTwins,
      ...stopTwins,
      // "if given, only `enabled` is accepted": an object without it is not that
      thinking: "absent",
      reasoning_effort: "absent",
    },
  },
  {
    endpoint: "/v1/images/generations",
    models: ["gamma-image-4-0-250828", "gamma-image-5-0-260128"],
    request: {
      prompt: "A river",
      image: [url],
      sequential_image_generation: "auto",
      sequential_image_generation_options: { max_images: 2 },
      size: "2048x2048",
      watermark: true,
      seed: 1,
      logo_info: { add_logo: true, position: 1, language: 1, opacity: 0.5 },
      n: 1,
    },
    accepted: {
      prompt: '""',
      image: "absent []",
      "image.0": "absent",
      sequential_image_generation: "absent",
      sequential_image_generation_options: "absent {}",
      "sequential_image_generation_options.max_images": "absent",
      size: "absent",
      watermark: "absent",
      seed: "absent",
      logo_info: "absent {}",
      "logo_info.add_logo": "absent",
      "logo_info.position": "absent",
      "logo_info.language": "absent",
      "logo_info.opacity": "absent",
      n: "absent null",
    },
  },
  {
    endpoint: videos,
    models: ["beta3.0-video", "beta3.0-video-prime"],
    request: {
      input: { prompt: "A river", media: [{ type: "first_frame", url }] },
      parameters: {
        resolution: "720P",
        ratio: "16:9",
        duration: 5,
        audio: true,
        prompt_extend: true,
        seed: 1,
        watermark: true,
      },
    },
    accepted: {
      // beside media
      "input.prompt": 'absent ""',
      // beside a prompt
      "input.media": "absent []",
      "input.media.0": "absent",
      parameters: "absent {}",
      "parameters.resolution": "absent",
      "parameters.ratio": "absent",
      "parameters.duration": "absent",
      "parameters.audio": "absent",
      "parameters.prompt_extend": "absent",
      "parameters.seed": "absent",
      "parameters.watermark": "absent",
    },
  },
  {
    endpoint: videos,
    models: ["gamma-video-1-5-pro-251215"],
    request: { content: frames, ...shots, generate_audio: true },
    accepted: { ...shotTwins, "content.1": "absent", generate_audio: "absent" },
  },
  {
    endpoint: videos,
    models: ["gamma-video-1-0-pro-fast-251015"],
    request: { content: frames, ...shots },
    accepted: { ...shotTwins, "content.1": "absent" },
  },
  {
    endpoint: videos,
    models: ["gamma-video-1-5-pro-251215", "gamma-video-1-0-pro-fast-251015"],
    request: { content: [{ type: "text", text: "A river" }], camera_fixed: true },
    accepted: { "content.0.text": '""', camera_fixed: "absent" },
  },
  {
    endpoint: videos,
    models: ["gamma-video-2.0", "gamma-video-fast"],
    request: {
      content: [
        ...frames,
        { type: "video_url", video_url: { url }, role: "reference_video" },
        { type: "audio_url", audio_url: { url }, role: "reference_audio" },
      ],
      ...shots,
      generate_audio: true,
      camera_fixed: true,
    },
    accepted: {
      ...shotTwins,
      "content.0": "absent",
      "content.1": "absent",
      // the set of roles is not shown
      "content.1.role": 'absent ""',
      "content.2": "absent",
      // their shapes are not shown
      "content.2.video_url": ANY,
      "content.2.video_url.url": ANY,
      "content.2.role": 'absent ""',
      "content.3": "absent",
      "content.3.audio_url": ANY,
      "content.3.audio_url.url": ANY,
      "content.3.role": 'absent ""',
      generate_audio: "absent",
      camera_fixed: "absent",
    },
    proxy: Object.fromEntries(
      [
        "content.2.video_url",
        "content.2.video_url.url",
        "content.3.audio_url",
        "content.3.audio_url.url",
      ].map((path) => [path, { twins: "absent null {} wrong", why: "a text there has to be an address" }]),
    ),
  },
  {
    endpoint: videos,
    models: ["gamma-video-2.0", "gamma-video-fast"],
    request: { content: [{ type: "text", text: "A river" }], tools: [{ type: "web_search" }] },
    accepted: { "content.0.text": '""', tools: "absent []", "tools.0": "absent" },
  },
  {
    endpoint: videos,
    models: ["gamma-video-2.0"],
    request: { content: [{ type: "text", text: "A river" }], return_last_frame: true },
    accepted: { "content.0.text": '""', return_last_frame: "absent" },
  },
  {
    endpoint: "/gamma/asset/CreateAsset",
    models: ["gamma-asset"],
    request: { GroupId: "group-1", Name: "hero", AssetType: "Image", URL: url },
    // required flags are not shown: an asset without one of these is of no use
    accepted: {},
    proxy: {
      GroupId: { twins: "absent null", why: "the proxy sets the first group that its operator lists" },
    },
  },
];

/** Lists the paths of all fields in a request, objects, lists and their entries included. */
export function listPaths(value: unknown, path = ""): string[] {
  if (typeof value !== "object" || value === null) return [path];
  const within = Object.entries(value);
  const paths = within.flatMap(([name, part]) => listPaths(part, path ? `${path}.${name}` : name));
  return path ? [path, ...paths] : paths;
}

/** Returns a copy of `request` with a twin in the place of the field at `path`. */
export function withTwin(request: object, path: string, twin: Twin): object {
  const copy = structuredClone(request);
  const steps = path.split(".");
  const name = steps.pop() ?? "";
  const owner = steps.reduce((within, step) => within[step] as Fields, copy as Fields);
  if (twin !== "absent")
    owner[name] = twin === "wrong" && typeof owner[name] === "number" ? "7" : twins[twin];
  else if (Array.isArray(owner)) owner.splice(Number(name), 1);
  else delete owner[name];
  return copy;
}

type Fields = Record<string, unknown>;
