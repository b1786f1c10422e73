import {
  type Client,
  ConfigurationError,
  createVideoTask,
  defineTool,
  type Tool,
  type ToolContext,
  type VideoModel,
  type VideoRequest,
  watchVideoTask,
} from "@sluice/core";
import { type ModelRequest, models } from "@sluice/core/schemas";
import { createInputSchema, type MediaToolOptions } from "./options.js";
import { addBillingWarning, startRun } from "./paid-run.js";

type Parameters = {
  [Model in VideoModel]: ModelRequest<Model> extends { parameters?: infer Fields }
    ? NonNullable<Fields>
    : Partial<Omit<ModelRequest<Model>, "model" | "content">>;
}[VideoModel];

/** Options of {@link videoTool}. */
export interface VideoToolOptions extends MediaToolOptions {
  /** The model that creates the videos. */
  readonly model: VideoModel;
  /**
   * Fields of each request, under the gateway's own names: for a `beta` model, its `parameters`. The model can't change
   * the fields that are set here.
   */
  readonly params?: Parameters;
}

/** Half an hour, the time limit of a watched task. */
const TIMEOUT_MS = 1_800_000;

/**
 * Creates a tool that lets a chat create videos. The `files` of the message that calls it show them. The model chooses
 * the prompt. It also chooses ratio, length and resolution, unless `params` sets them. The model gets a sentence, not
 * the video.
 *
 * The call has a `progress`, and saves the handle of the task as `savedState`: after a reload it waits for the same
 * video. A video costs money even if the chat is stopped: a task can't be cancelled.
 *
 * @throws {ConfigurationError} for a model that is not in the table `models`
 * @example
 * ```ts
 * const video = videoTool(client, {
 *   model: "beta3.0-video",
 *   params: { resolution: "720P", duration: 5 },
 *   needsApproval: true,
 * });
 * const chat = createChatStore(client, { model: "alpha-v4.1-flash", tools: [video] });
 * ```
 */
export function videoTool(client: Client, options: VideoToolOptions): Tool {
  const { model, params = {}, name = "make_video" } = options;
  const { headers, timeout, retry } = options;
  if (models[model]?.kind !== "video")
    throw new ConfigurationError(`model: ${JSON.stringify(model)} is not a video model`);
  const modelInfo = models[model];
  const { min, max } = modelInfo.duration;
  return defineTool<unknown, string>({
    name,
    description:
      options.description ??
      "Makes a short video from a description, and shows it to the user. It takes minutes.",
    inputSchema: createInputSchema(
      {
        prompt: { type: "string", description: "Everything that the video shows, in one text." },
        ratio: { type: "string", enum: modelInfo.ratios, description: "Width to height." },
        resolution: { type: "string", enum: modelInfo.resolutions },
        duration: { type: "integer", minimum: min, maximum: max, description: "Length in seconds." },
      },
      params,
    ),
    needsApproval: options.needsApproval ?? false,
    timeoutMs: TIMEOUT_MS,
    async execute(input, context) {
      const { prompt, ratio, resolution, duration } = input as Record<string, unknown>;
      const fields = omitUndefined({ ratio, resolution, duration, ...params });
      const run = await startRun(client, context);
      const body =
        modelInfo.family === "beta"
          ? { model, input: { prompt }, parameters: fields }
          : { ...fields, model, content: [{ type: "text", text: prompt }] };
      const requestOptions = { headers, timeout, retry, signal: context.signal };
      const handle =
        run.handle ??
        (await createVideoTask(client, body as VideoRequest, {
          ...requestOptions,
          idempotencyKey: run.key,
        }).catch((error) => {
          throw addBillingWarning(error);
        }));
      await context.saveState({ ...run, handle });
      const url = await waitForVideo(client, handle, requestOptions, context);
      context.attachFile({ type: "video/mp4", url });
      return "The user sees the video.";
    },
  });
}

/** Waits for a video, and reports its progress. */
async function waitForVideo(
  client: Client,
  handle: { readonly id: string },
  requestOptions: object,
  { reportProgress }: ToolContext,
): Promise<string> {
  // the time limit of the tool ends the watch
  const options = { ...requestOptions, deadlineMs: Number.POSITIVE_INFINITY };
  for await (const task of watchVideoTask(client, handle, options)) {
    if (task.progress !== undefined) reportProgress(task.progress);
    if (task.state === "succeeded") return task.url;
    if (task.state === "failed") throw new Error(`the video failed: ${task.reason || "no reason is given"}`);
  }
  throw new Error("the task has no end");
}

function omitUndefined(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}
