import {
  APIError,
  createAsset,
  createClient,
  createVideoTask,
  defineTool,
  generateImages,
  isGatewayError,
  StreamError,
  streamChat,
  watchAsset,
  watchVideoTask,
} from "@sluice/core";
import { createPartialJSON } from "@sluice/core/partial-json";
import { checkRequest, type ModelRequest, models } from "@sluice/core/schemas";
import { createEventParser } from "@sluice/core/sse";
import { createUploadStore, probeMedia, toDataURI, uploadMedia } from "@sluice/media";
import { createChatStore, indexedDBStorage } from "@sluice/stores";

/*
 * An app's use of the client. Each TypeScript compiles it against the installed packages, and nothing runs it: types that
 * are inferred have to be found by all of them.
 */

export const client = createClient({
  baseURL: "https://proxy.example.com",
  gateway: { assetLookup: "/gamma/asset/GetAsset" },
  onEvent: (event) => {
    if (event.type === "response") console.log(event.status.toFixed());
  },
});

/** A response, delta by delta. */
export async function requestText(question: string): Promise<string> {
  let text = "";
  const stream = streamChat(client, {
    model: "delta-5.3",
    messages: [{ role: "user", content: question }],
    temperature: 0.2,
  });
  for await (const delta of stream) if (delta.type === "text-delta") text += delta.text;
  const { outcome, usage } = await stream.result();
  return outcome === "complete" ? `${text} ${usage?.total_tokens.toFixed()}` : outcome;
}

/** A conversation with a tool. */
export async function converse(): Promise<readonly string[]> {
  const depth = defineTool({
    name: "depth",
    inputSchema: { type: "object", properties: { river: { type: "string" } } },
    execute: (_, { signal }) => (signal.aborted ? "unknown" : "7 metres"),
  });
  const options = { id: "rivers", model: "alpha-v4.1-flash", tools: [depth] } as const;
  const chat = createChatStore(client, { ...options, storage: indexedDBStorage() });
  const stop = chat.subscribe(() => console.log(chat.getSnapshot().status));
  const { error, messages } = await chat.send("How deep is the river?");
  stop();
  return error ? [error.message] : messages.map(({ role, content }) => `${role}: ${content}`);
}

/** Images of a model with typed sizes, and of a model that this version does not know. */
export async function paint(): Promise<(string | undefined)[]> {
  const { images } = await generateImages(client, {
    model: "gamma-image-4-0-250828",
    prompt: "A lock on a canal",
    size: "1024x1024",
  });
  await generateImages(client, { model: "gamma-image-9", prompt: "A reef" }, { checks: false });
  // @ts-expect-error a model of chats makes no images
  await generateImages(client, { model: "delta-5.3", prompt: "A reef" });
  return images.map((image) => image.url);
}

/** A video with a file of the user. */
export async function checkVideo(file: Blob): Promise<string | undefined> {
  const { kind } = await probeMedia(file);
  const { url } = await uploadMedia(client, file, { use: "reference_video" });
  const uploads = createUploadStore(client, { use: "reference_video" });
  const request: ModelRequest<"beta3.0-video"> = {
    model: "beta3.0-video",
    input: { prompt: `A ${kind}`, media: [{ type: "reference_video", url }] },
  };
  const { issues } = checkRequest(request);
  if (issues.length > 0) return uploads.getSnapshot().status;
  for await (const task of watchVideoTask(client, await createVideoTask(client, request)))
    if (task.state === "succeeded") return task.url;
  return undefined;
}

/** A file that is registered. */
export async function register(file: Blob): Promise<string> {
  const handle = await createAsset(client, {
    model: "gamma-asset",
    GroupId: "group-1",
    Name: "canal.png",
    AssetType: "Image",
    URL: await toDataURI(file),
  });
  const { state } = await watchAsset(client, handle).result();
  return `${handle.uri} is ${state}`;
}

/** Words for an error of any kind. */
export function wordsFor(error: unknown): string {
  if (error instanceof APIError) return `${error.status} ${error.requestId ?? ""}`;
  if (error instanceof StreamError) return `${error.reason}: ${error.partial.content}`;
  if (isGatewayError(error) && error.name === "ValidationError")
    return error.issues.map(({ path, message }) => `${path}: ${message}`).join();
  return isGatewayError(error) ? (error.billing ?? error.name) : String(error);
}

/** The readers alone. */
export function read(text: string): unknown {
  const names: string[] = [];
  const parser = createEventParser({ onEvent: ({ event, data }) => void names.push(event ?? data) });
  parser.push(new TextEncoder().encode(text));
  const json = createPartialJSON();
  json.push(text);
  return [names, json.value, models];
}
