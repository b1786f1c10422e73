/** An assumption of the client about a gateway, as `sluice doctor` lists it. */
export interface Assumption {
  /** Part of the gateway. */
  readonly group: "Connection" | "Chat" | "Images" | "Videos" | "Assets" | "Worker";
  /** The assumption as a sentence. */
  readonly text: string;
  /**
   * What shows if it holds: a request that is never charged (`free`), a small chat, image or video that is charged, or
   * only the use of the gateway (`use`).
   */
  readonly check: "free" | "chat" | "image" | "video" | "use";
  /** Rules of `docs/spec/wire.md` that depend on it. @default none */
  readonly rules?: readonly string[];
  /** Words of `docs/spec/gateway.md` that leave it open. @default none: the interface states it */
  readonly open?: readonly string[];
  /** Advice for an app if the assumption does not hold. */
  readonly remedy: string;
}

const PARSE = "Set `gateway.parseVideoTask` of `createClient`.";
const REPORT = "The client reads such a stream wrongly: report it, with the recording.";
const ADDRESS = "Set `baseURL` to the root of the gateway, with or without `/v1`.";

/**
 * Everything that the client assumes about a gateway, by name. `sluice doctor` checks a URL for each row with a check,
 * and the option `differs` of `createEmulator` breaks each row that a gateway can break.
 *
 * @example
 * ```ts
 * const free = Object.entries(assumptions).filter(([, { check }]) => check === "free");
 * ```
 */
export const assumptions = {
  // Connection
  "no-redirect": {
    group: "Connection",
    text: "The address does not redirect.",
    check: "free",
    rules: ["2.11"],
    remedy: "Set `baseURL` to the final address. The client follows no redirect.",
  },
  "chat-path": {
    group: "Connection",
    text: "`/v1/chat/completions` is below the base URL.",
    check: "free",
    rules: ["3.19"],
    remedy: ADDRESS,
  },
  "image-path": {
    group: "Connection",
    text: "`/v1/images/generations` is below the base URL.",
    check: "free",
    rules: ["3.19"],
    remedy: "This server makes no images.",
  },
  "video-path": {
    group: "Connection",
    text: "`/v1/video/generations` is below the base URL.",
    check: "free",
    rules: ["3.19"],
    remedy: "This server makes no videos.",
  },
  "asset-path": {
    group: "Connection",
    text: "`/gamma/asset/CreateAsset` is below the root, outside `/v1`.",
    check: "free",
    rules: ["3.19"],
    remedy: "This server registers no assets.",
  },
  "epsilon-path": {
    group: "Connection",
    text: "`/epsilon/v1/videos` is below the root, outside `/v1`.",
    check: "free",
    rules: ["3.19"],
    remedy: "It has no epsilon endpoints, or reports an unknown video like an unknown path.",
  },
  "unknown-path": {
    group: "Connection",
    text: "An unknown path gets 404.",
    check: "free",
    rules: ["2.11"],
    remedy: "A mistake in `baseURL` is then harder to see. Check it twice.",
  },
  "key-required": {
    group: "Connection",
    text: "A request without a key gets 401.",
    check: "free",
    rules: ["3.11"],
    remedy: "It asked for no key, so perhaps anyone can use it. Protect it, or keep its address secret.",
  },
  "wrong-key": {
    group: "Connection",
    text: "A wrong key gets 401 or 403.",
    check: "free",
    rules: ["3.11"],
    remedy:
      "A wrong key is then an `APIError` with another `status`, and `describeError` does not name the key.",
  },
  "key-accepted": {
    group: "Connection",
    text: "Your key is accepted.",
    check: "free",
    remedy: "Check GATEWAY_API_KEY, or PROXY_TOKEN for a proxy.",
  },
  "error-body": {
    group: "Connection",
    text: "An error is JSON with `error.message`.",
    check: "free",
    rules: ["2.10"],
    open: ["`error.type` and `error.code` values: not shown"],
    remedy: "The client reads other shapes too. Compare the message with the server's.",
  },
  "invalid-request": {
    group: "Connection",
    text: "An invalid request gets a 4xx, is not charged, and is not repeated.",
    check: "free",
    rules: ["3.16"],
    open: ["Mapping of each validation condition"],
    remedy: "Set `retry: { limit: 0 }`: the client repeats a 5xx. After a 200, look at your account.",
  },
  "request-id": {
    group: "Connection",
    text: "A response names its request in `x-request-id`.",
    check: "free",
    remedy: "`requestId` of errors and results is undefined.",
  },
  "rate-limit": {
    group: "Connection",
    text: "A 429 may have `Retry-After`, and another attempt may succeed.",
    check: "use",
    rules: ["3.12", "3.16"],
    open: ["Numeric rate limits: not shown"],
    remedy: "Set `retry` of `createClient`.",
  },
  "no-version": {
    group: "Connection",
    text: "No header selects a version of the interface.",
    check: "free",
    open: ["any version header: not shown"],
    remedy: "Set `headers` of `createClient`.",
  },
  // Chat
  "client-stream": {
    group: "Chat",
    text: "The client reads a stream to its end.",
    check: "chat",
    rules: ["2.2", "2.8"],
    remedy: REPORT,
  },
  "client-whole": {
    group: "Chat",
    text: "The client reads a whole completion.",
    check: "chat",
    rules: ["2.1", "2.11"],
    remedy: "The error names the field. Report it, with the recording.",
  },
  "stream-type": {
    group: "Chat",
    text: "A stream has the type `text/event-stream`.",
    check: "chat",
    rules: ["2.11"],
    open: ["Shape of streamed chunks"],
    remedy: "The client reads it anyway. A proxy of your own may refuse it.",
  },
  "stream-chunks": {
    group: "Chat",
    text: "An event of a stream is JSON with `choices[0].delta`.",
    check: "chat",
    rules: ["2.2", "2.4", "2.20"],
    open: ["Shape of streamed chunks"],
    remedy: REPORT,
  },
  "stream-finish": {
    group: "Chat",
    text: "A chunk has a `finish_reason`.",
    check: "chat",
    rules: ["2.7", "2.21"],
    open: ["Shape of streamed chunks"],
    remedy: "Each response ends as `unconfirmed`, and no tool runs.",
  },
  "stream-done": {
    group: "Chat",
    text: "A stream ends with `[DONE]`.",
    check: "chat",
    rules: ["2.14"],
    open: ["Shape of streamed chunks"],
    remedy: "Nothing to do: the `finish_reason` is enough.",
  },
  "stream-id": {
    group: "Chat",
    text: "All chunks of a stream have one `id` and one `model`.",
    check: "chat",
    rules: ["2.16"],
    open: ["Shape of streamed chunks"],
    remedy: "The client takes the first of each.",
  },
  "usage-option": {
    group: "Chat",
    text: "Every chat model accepts `stream_options.include_usage`.",
    check: "chat",
    rules: ["1.21", "2.15"],
    open: ["Shape of streamed chunks"],
    remedy: "Set `gateway.includeUsage` to false.",
  },
  "usage-reported": {
    group: "Chat",
    text: "A stream reports its usage when the request asks for it.",
    check: "chat",
    rules: ["2.15", "4.4"],
    open: ["Shape of streamed chunks"],
    remedy: "Costs and budgets of streams are unknown. Count what `max_tokens` allows.",
  },
  "usage-last": {
    group: "Chat",
    text: "The last `usage` of a stream is that of the whole response.",
    check: "chat",
    rules: ["2.3"],
    open: ["Shape of streamed chunks"],
    remedy: "Usage and costs are too low. Report it, with the recording.",
  },
  "max-tokens": {
    group: "Chat",
    text: "`max_tokens` bounds the whole response, with its thinking.",
    check: "chat",
    remedy: "A response may cost more than `max_tokens` allows. Budgets need a reserve.",
  },
  thinking: {
    group: "Chat",
    text: "Thinking is in a field of its own, not in the text.",
    check: "chat",
    rules: ["2.6"],
    open: ["Shape of streamed chunks"],
    remedy: "Remove the thinking from the text before you show it.",
  },
  "tool-calls": {
    group: "Chat",
    text: "A fragment of a tool call has an `index`; the first has an id and a name.",
    check: "chat",
    rules: ["2.5", "2.13", "2.19"],
    open: ["Shape of streamed chunks"],
    remedy: "Calls side by side may be refused as `malformed`. Request one call at a time.",
  },
  "unknown-field": {
    group: "Chat",
    text: "A request with an unknown field is accepted.",
    check: "chat",
    rules: ["1.2", "4.1"],
    remedy: "Send no field that produces a warning.",
  },
  "delta-fields": {
    group: "Chat",
    text: "`delta-5.3` accepts `temperature`, `top_p` and `stop`.",
    check: "chat",
    rules: ["1.31"],
    open: ["their names are not shown"],
    remedy: "Leave the three fields out for this model.",
  },
  "delta-tools": {
    group: "Chat",
    text: "`delta-5.3` accepts tools, which the interface does not list for it.",
    check: "chat",
    rules: ["1.32"],
    remedy: "Call tools with `alpha-v4.1-flash`.",
  },
  unbuffered: {
    group: "Chat",
    text: "A stream arrives in pieces, as the model writes it.",
    check: "chat",
    rules: ["2.12"],
    remedy: "Something between holds the stream back: turn its buffering and compression off.",
  },
  // Images
  "image-result": {
    group: "Images",
    text: "An image has a `url` or `b64_json`.",
    check: "image",
    rules: ["2.22"],
    remedy: "Read `raw` of the result.",
  },
  "image-size": {
    group: "Images",
    text: "A request without a size is accepted.",
    check: "image",
    rules: ["1.3"],
    open: ["Default size: not shown"],
    remedy: "Set `size` in each request.",
  },
  "file-url": {
    group: "Images",
    text: "The URL of a result needs no key.",
    check: "image",
    rules: ["3.20"],
    remedy: "Fetch files on your server, with the key.",
  },
  "image-count": {
    group: "Images",
    text: "`max_images` has no bound of its own.",
    check: "use",
    rules: ["1.41"],
    open: ["Bounds of `max_images`: not shown"],
    remedy: "Set a cap in `models` of the proxy.",
  },
  // Videos
  "unknown-task": {
    group: "Videos",
    text: "A query of an unknown task gets 404 or 400.",
    check: "free",
    rules: ["3.10", "3.11"],
    open: ["Mapping of each validation condition"],
    remedy: "A wrong id is polled until the deadline. Set `gateway.parseVideoTask`.",
  },
  "task-known": {
    group: "Videos",
    text: "A task can be queried within 30 s of its creation.",
    check: "video",
    rules: ["3.11"],
    open: ["Transitions: not shown"],
    remedy: "A new task may be reported as lost. Wait before the first query.",
  },
  "task-shape": {
    group: "Videos",
    text: "A query, enveloped or bare, has a `status`.",
    check: "video",
    rules: ["3.2", "3.5"],
    open: ["Query result shape for `gamma-video-2.0` and `gamma-video-fast`: not shown"],
    remedy: PARSE,
  },
  "task-status": {
    group: "Videos",
    text: "A task has the status words that the client knows.",
    check: "video",
    rules: ["3.2", "3.4", "3.6"],
    open: ["Other status values: not shown"],
    remedy: PARSE,
  },
  "task-url": {
    group: "Videos",
    text: "The video's URL is in a field that the client knows.",
    check: "video",
    rules: ["3.3", "3.7"],
    open: ["Query result shape for `gamma-video-2.0` and `gamma-video-fast`: not shown"],
    remedy: PARSE,
  },
  "task-progress": {
    group: "Videos",
    text: "`progress` never falls.",
    check: "video",
    rules: ["3.8"],
    open: ["Transitions: not shown"],
    remedy: "Nothing to do: the client shows the highest value.",
  },
  "task-cancel": {
    group: "Videos",
    text: "A task cannot be canceled.",
    check: "free",
    rules: ["3.15"],
    remedy: "An abort ends the waiting alone.",
  },
  "task-lifetime": {
    group: "Videos",
    text: "A task, and the URL of an image or a video, live for 24 hours.",
    check: "use",
    rules: ["3.14"],
    remedy: "Save a result when it is ready.",
  },
  "video-items": {
    group: "Videos",
    text: "Video and audio items of `content` have `video_url` and `audio_url`.",
    check: "use",
    rules: ["1.63", "1.64"],
    open: ["Shapes of video and audio content items"],
    remedy: "Send the items as your gateway documents them. The client only warns.",
  },
  "video-defaults": {
    group: "Videos",
    text: "Optional fields of `gamma-video-2.0` and `gamma-video-fast` may be absent.",
    check: "use",
    rules: ["1.3", "1.6"],
    open: ["Defaults of these fields: not shown"],
    remedy: "Set `resolution`, `ratio` and `duration` in each request.",
  },
  "no-events": {
    group: "Videos",
    text: "The gateway pushes nothing: the client polls.",
    check: "use",
    open: ["Events: not shown"],
    remedy: "Nothing to do.",
  },
  "epsilon-shapes": {
    group: "Videos",
    text: "The epsilon endpoints take and return any JSON.",
    check: "free",
    rules: ["3.21"],
    open: ["Request and response shapes for the four `epsilon` endpoints: not shown"],
    remedy: "Check the responses in your own code.",
  },
  // Assets
  "asset-lookup": {
    group: "Assets",
    text: "`POST /gamma/asset/GetAsset` with an `Id` looks an asset up.",
    check: "free",
    rules: ["3.17"],
    open: ["The lookup endpoint and group creation: not shown"],
    remedy:
      "Query an asset of your own. If it is not there, ask for the path, and set `gateway.assetLookup`.",
  },
  "asset-form": {
    group: "Assets",
    text: "A form has the field names of the JSON, and no optional field is required.",
    check: "free",
    rules: ["1.71"],
    open: ["Required flags of the body fields: not shown"],
    remedy: "Send assets as JSON.",
  },
  "asset-record": {
    group: "Assets",
    text: "A record has `Status`. Any status but `Active` and `Failed` is pending.",
    check: "use",
    rules: ["3.17"],
    open: [
      "Fields of the asset group record: not shown",
      "Fields of the full asset record beyond `Id`, `Status` and `URL`: not shown",
      "Only `Active` assets may be used in generation requests. Transitions: not shown",
    ],
    remedy: "Set `gateway.assetLookup` to a function that returns such a record.",
  },
  // Worker
  "worker-health": {
    group: "Worker",
    text: "`GET /health` says that the Worker is set up.",
    check: "free",
    remedy: "The Worker's log has each problem.",
  },
  "worker-sign-in": {
    group: "Worker",
    text: "A request without a user is refused.",
    check: "free",
    remedy: "Set `authenticate`: strangers spend your money.",
  },
  "worker-origins": {
    group: "Worker",
    text: "A page of another origin may not call.",
    check: "free",
    remedy: "List your own pages in `origins`, and nothing else.",
  },
  "worker-own-origin": {
    group: "Worker",
    text: "Your page may call, and read the headers that the client needs.",
    check: "free",
    rules: ["6.2"],
    remedy: "Add the page to `origins`, exactly as the browser names it.",
  },
  "worker-models": {
    group: "Worker",
    text: "A model that is not listed is refused.",
    check: "free",
    remedy: "List the models of your app in `models`.",
  },
  "worker-limits": {
    group: "Worker",
    text: "The Worker bounds `max_tokens`.",
    check: "free",
    remedy: "Set `limits.maxTokens`, or a cap in `models`: one request can cost all that the model allows.",
  },
  "worker-headers": {
    group: "Worker",
    text: "No cache stores a response, and no browser guesses its type.",
    check: "free",
    remedy: "Pass the Worker's headers on: `cache-control` and `x-content-type-options`.",
  },
  "worker-abort": {
    group: "Worker",
    text: "An abort reaches the gateway.",
    check: "chat",
    remedy: "A response that nobody reads is written and charged to its end.",
  },
} as const satisfies Readonly<Record<string, Assumption>>;

/** Name of an assumption. */
type AssumptionName = keyof typeof assumptions;

type Rows = typeof assumptions;

/** Name of an assumption that requests can check. */
export type CheckedAssumption = {
  [Name in AssumptionName]: Rows[Name]["check"] extends "use" ? never : Name;
}[AssumptionName];

/** Name of a checked assumption about the gateway, which the option `differs` breaks. */
export type GatewayDifference = {
  [Name in CheckedAssumption]: Rows[Name]["group"] extends "Worker" ? never : Name;
}[CheckedAssumption];
