import type { RequestFor } from "../base/validate.js";
import type { Client } from "../client.js";
import { findId, readField, requestRecord } from "../transport/json-response.js";
import { repeatIfStored } from "../transport/repeat-stored.js";
import type { RequestOptions } from "../transport/send.js";
import { findVideoModel } from "../types/media-models.js";
import type { VideoTaskHandle } from "../types/video-task.js";
import { assertVideoRequest, type VideoRequest, type VideoRequests } from "./schema/request.js";

/** Five minutes: the body contains references of up to 20 MB each. */
const FIRST_CHUNK_MS = 300_000;

/**
 * Creates a video task (spec, `POST /v1/video/generations`). Store the handle at once: it is plain JSON. The task
 * continues and is billed even if no page watches it. You cannot cancel it.
 *
 * The client repeats the request after a 429, which is not billed. It repeats it after other failures only behind a
 * proxy with `idempotency()`. The error's `billing` shows if the request may be billed.
 *
 * @throws {ValidationError} when a rule of the model is broken; nothing was sent
 * @throws {APIError} when the gateway refuses
 * @throws {ConnectionError} when no response came, or the connection broke
 * @throws {TimeoutError} phase `first-chunk`, `chunk` or `total`
 * @throws {ResponseError} when the response lacks an id. Other unreadable fields are warnings
 * @example
 * ```ts
 * const handle = await createVideoTask(client, {
 *   model: "beta3.0-video",
 *   input: { prompt: "A reef at dawn" },
 *   parameters: { resolution: "720P", duration: 5 },
 * });
 * localStorage.setItem("task", JSON.stringify(handle));
 * ```
 */
export async function createVideoTask<const Model extends string, Checks extends boolean = true>(
  client: Client,
  request: RequestFor<Model, VideoRequests, Checks>,
  options: RequestOptions<Checks> = {},
): Promise<VideoTaskHandle> {
  return requestRecord(
    client,
    {
      method: "post",
      kind: "video",
      path: "/v1/video/generations",
      subject: request,
      body() {
        assertVideoRequest(client, request, options);
        return request;
      },
      firstChunkMs: FIRST_CHUNK_MS,
      repeats: repeatIfStored,
      summary: ({ id, model }) => ({ id, ...(model && { model }) }),
      read(response) {
        const id = findId(response, "id", "task_id");
        if (id === undefined) throw response.mismatch("id");
        const handle = createHandle(client, id, response.json, (request as VideoRequest).model);
        const isWatched = response.headers.get("x-sluice-features")?.includes("video-watch");
        return isWatched ? { ...handle, watchedBy: "proxy" } : handle;
      },
    },
    options,
    "id",
    "task_id",
  );
}

function createHandle(
  client: Client,
  id: string,
  receipt: Record<string, unknown>,
  requestedModel: string,
): VideoTaskHandle {
  const seconds = readField(client, "created_at", "number", receipt.created_at) ?? 0;
  const model = readField(client, "model", "string", receipt.model) || requestedModel;
  const createdAt = seconds > 0 ? seconds * 1000 : Date.now();
  const row = findVideoModel(model);
  const hours = row && "retentionHours" in row ? row.retentionHours : undefined;
  // compared with the local clock, which may be ahead of the gateway's: a new task has never expired
  const newestMs = Math.max(createdAt, Date.now());
  return { id, model, createdAt, ...(hours && { queryableUntil: newestMs + hours * 3_600_000 }) };
}
