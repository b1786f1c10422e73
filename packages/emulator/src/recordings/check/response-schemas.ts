import { models } from "@sluice/core/schemas";
import * as v from "valibot";

/*
 * Responses as the specification's tables list them. The objects are strict, so that every unlisted field is reported.
 */

const text = v.string();
const whole = v.pipe(v.number(), v.integer());
const anything = v.unknown();

const finishReason = v.nullable(
  v.picklist(["stop", "length", "content_filter", "tool_calls", "insufficient_system_resource"]),
);
const toolCall = v.strictObject({
  id: text,
  type: v.literal("function"),
  function: v.strictObject({ name: text, arguments: text }),
});
const message = v.strictObject({
  role: v.literal("assistant"),
  content: v.optional(v.nullable(text)),
  reasoning_content: v.optional(v.nullable(text)),
  tool_calls: v.optional(v.nullable(v.array(toolCall))),
});
const counts = { prompt_tokens: whole, completion_tokens: whole, total_tokens: whole };
const usages: Readonly<Record<string, v.GenericSchema>> = {
  "alpha-v4.1-flash": v.strictObject({
    ...counts,
    prompt_tokens_details: v.strictObject({ cached_tokens: whole }),
    prompt_cache_hit_tokens: whole,
    prompt_cache_miss_tokens: whole,
  }),
  "gamma-chat-1-6-251015": v.strictObject(counts),
  "delta-5.3": v.strictObject({ ...counts, completion_tokens_details: v.looseObject({}) }),
};

/** Completion of a chat (spec, Chat completion). */
function createCompletionSchema(model: string): v.GenericSchema {
  return v.strictObject({
    id: text,
    // the spec lists the fields of delta without these two
    object: model === "delta-5.3" ? v.optional(v.literal("chat.completion")) : v.literal("chat.completion"),
    created: model === "delta-5.3" ? v.optional(whole) : whole,
    model: text,
    choices: v.array(v.strictObject({ index: whole, message, finish_reason: finishReason })),
    usage: usages[model] ?? v.looseObject(counts),
  });
}

/** Result of the image endpoint (spec, Image generation result). */
const imageResult = v.strictObject({
  model: text,
  created: whole,
  data: v.array(v.strictObject({ url: text, size: v.pipe(text, v.regex(/^\d+x\d+$/)) })),
  usage: v.strictObject({ generated_images: whole, output_tokens: whole, total_tokens: whole }),
});

/** Receipt of a new video task (spec, Video task). */
function createReceiptSchema(model: string): v.GenericSchema {
  return v.strictObject({
    id: text,
    task_id: text,
    object: v.literal("video"),
    model: text,
    status: v.literal(isSecondGeneration(model) ? "" : "queued"),
    progress: v.literal(0),
    created_at: whole,
  });
}

const betaResult = v.strictObject({
  output: v.strictObject({
    end_time: v.optional(text),
    orig_prompt: v.optional(text),
    scheduled_time: v.optional(text),
    submit_time: text,
    task_id: text,
    task_status: text,
    video_url: v.optional(text),
  }),
  request_id: text,
  usage: v.optional(
    v.strictObject({
      SR: whole,
      duration: whole,
      fps: whole,
      input_video_duration: v.number(),
      output_video_duration: v.number(),
      ratio: text,
      video_count: whole,
    }),
  ),
});

/** Result of a video task query (spec, Video task). */
function createTaskQuerySchema(model: string): v.GenericSchema {
  return v.strictObject({
    code: text,
    message: text,
    data: v.strictObject({
      task_id: text,
      action: text,
      status: v.picklist(["NOT_START", "QUEUED", "IN_PROGRESS", "SUCCESS", "FAILURE"]),
      fail_reason: text,
      result_url: v.optional(v.nullable(text)),
      submit_time: whole,
      start_time: whole,
      finish_time: whole,
      progress: v.pipe(text, v.regex(/^\d+(?:\.\d+)?%$/)),
      request_id: text,
      data: model.startsWith("beta") ? betaResult : anything,
    }),
  });
}

/** Error body (spec, Errors). Some endpoints declare it without `type`. */
export const errorSchema = v.strictObject({
  error: v.strictObject({ message: text, code: text, type: v.optional(text) }),
});

/** Statuses that the specification lists (spec, Errors). */
export const statuses: readonly number[] = [200, 400, 401, 403, 404, 429, 500];

/** Returns the schema of a success, or undefined if the specification shows none. */
export function findSchema(endpoint: string, model: string): v.GenericSchema | undefined {
  switch (endpoint) {
    case "POST /v1/chat/completions":
      return createCompletionSchema(model);
    case "POST /v1/images/generations":
      return imageResult;
    case "POST /v1/video/generations":
      return createReceiptSchema(model);
    case "GET /v1/video/generations/{id}":
      return isSecondGeneration(model) ? undefined : createTaskQuerySchema(model);
    case "POST /gamma/asset/CreateAsset":
      return v.strictObject({ Id: text });
    default:
      return undefined;
  }
}

function isSecondGeneration(model: string): boolean {
  const row = Object.values(models).find(({ id }) => id === model);
  if (row?.kind !== "video") return false;
  const { family } = row;
  return family === "2-0" || family === "fast";
}
