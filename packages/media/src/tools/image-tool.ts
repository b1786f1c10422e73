import {
  type Client,
  ConfigurationError,
  defineTool,
  generateImages,
  type ImageModel,
  type ImageRequest,
  type Tool,
} from "@sluice/core";
import { models } from "@sluice/core/schemas";
import { createInputSchema, type MediaToolOptions } from "./options.js";
import { addBillingWarning, startRun } from "./paid-run.js";

/** Options of {@link imageTool}. */
export interface ImageToolOptions extends MediaToolOptions {
  /** The model that creates the images. */
  readonly model: ImageModel;
  /** Fields of each request, under the gateway's own names. The model can't change a `size` that is set here. */
  readonly params?: Partial<Omit<ImageRequest, "model" | "prompt">>;
}

/** Ten minutes, the time limit of an image request. */
const TIMEOUT_MS = 600_000;

/**
 * Creates a tool that lets a chat create images. The `images` of the message that calls it show them. The model chooses
 * the prompt and a size of the image model. The model gets a sentence, not the image.
 *
 * Each call sends one request, which is billed. After a reload the request is repeated only behind a proxy that stores
 * its key (`idempotency()`): the proxy returns the same images. Elsewhere the call fails, and the model is told to ask the user.
 *
 * @throws {ConfigurationError} for a model that is not in the table `models`
 * @example
 * ```ts
 * const chat = createChatStore(client, {
 *   model: "alpha-v4.1-flash",
 *   tools: [imageTool(client, { model: "gamma-image-5-0-260128", needsApproval: true })],
 * });
 * await chat.send("Paint a reef at dawn");
 * const images = chat.getSnapshot().messages.flatMap(({ images = [] }) => images);
 * ```
 */
export function imageTool(client: Client, options: ImageToolOptions): Tool {
  const { model, params = {}, name = "make_image" } = options;
  const { headers, timeout, retry } = options;
  if (models[model]?.kind !== "image")
    throw new ConfigurationError(`model: ${JSON.stringify(model)} is not an image model`);
  return defineTool<unknown, string>({
    name,
    description: options.description ?? "Makes an image from a description, and shows it to the user.",
    inputSchema: createInputSchema(
      {
        prompt: { type: "string", description: "Everything that the image shows, in one text." },
        size: { type: "string", enum: models[model].sizes, description: "Width and height in pixels." },
      },
      params,
    ),
    needsApproval: options.needsApproval ?? false,
    timeoutMs: TIMEOUT_MS,
    async execute(input, context) {
      const { prompt, size } = input as { prompt: string; size?: string };
      const { key } = await startRun(client, context);
      // use only the fields of the schema: the model may write others
      const body = { ...(size !== undefined && { size }), ...params, model, prompt } as ImageRequest;
      const requestOptions = { headers, timeout, retry, signal: context.signal, idempotencyKey: key };
      const { images } = await generateImages(client, body, requestOptions).catch((error) => {
        throw addBillingWarning(error);
      });
      const urls = images.flatMap(({ url }) => url ?? []);
      for (const url of urls) context.attachFile({ type: "image/*", url });
      const failures = images.flatMap(({ error }) => error?.message ?? []);
      if (urls.length === 0) throw new Error(failures[0] ?? "no image was made");
      const summary = urls.length === 1 ? "The user sees the image." : `The user sees ${urls.length} images.`;
      return [summary, ...failures.map((message) => `One was not made: ${message}`)].join(" ");
    },
  });
}
