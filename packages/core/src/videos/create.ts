import { assertAccepted, type UncheckedRequest } from "../base/validate.js";
import type { Client } from "../client.js";
import { videoModels } from "../models.js";
import { fieldOf, idIn, requestRecord } from "../transport/json-response.js";
import type { RequestOptions } from "../transport/send.js";
import type { VideoTaskHandle } from "../video-task.js";
import { checkVideoRequest, type VideoRequest } from "./schema/request.js";

/** References travel in the body, up to 20 MB each. */
const HEADERS_MS = 300_000;

/**
 * Creates a video task (spec, `POST /v1/video/generations`). Store the handle first of all: it is plain JSON.
 * The task goes on and is billed even if no page watches it. It cannot be cancelled.
 *
 * The request is repeated only after a 429, which is not billed. After any other failure the error's
 * `outcome` says whether it may be billed.
 *
 * @throws {ValidationError} when a rule of the model is broken; nothing was sent
 * @throws {APIError} when the gateway refuses
 * @throws {ConnectionError} when there was no answer, or it broke off
 * @throws {TimeoutError} phase `headers`, `chunk` or `total`
 * @throws {ResponseError} when the receipt has no id. Other fields of it that can't be read are warnings
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
export async function createVideoTask(
  client: Client,
  request: VideoRequest | UncheckedRequest,
  options: RequestOptions = {},
): Promise<VideoTaskHandle> {
  return requestRecord(
    client,
    {
      method: "post",
      path: "/v1/video/generations",
      subject: request,
      body() {
        assertAccepted(request, checkVideoRequest, client.warn, "createVideoTask(client, unchecked({ … }))");
        return request;
      },
      headersMs: HEADERS_MS,
      repeat: "refused-only",
      read(answer) {
        const id = idIn(answer, "id", "task_id");
        if (id === undefined) throw answer.misfit("id");
        return handleOf(client, id, answer.json, (request as VideoRequest).model);
      },
    },
    options,
    "id",
    "task_id",
  );
}

function handleOf(
  client: Client,
  id: string,
  receipt: Record<string, unknown>,
  asked: string,
): VideoTaskHandle {
  const seconds = fieldOf(client, "created_at", "number", receipt.created_at) ?? 0;
  const model = fieldOf(client, "model", "string", receipt.model) || asked;
  const createdAt = seconds > 0 ? seconds * 1000 : Date.now();
  const row = Object.hasOwn(videoModels, model) ? videoModels[model as keyof typeof videoModels] : undefined;
  const hours = row && "retentionHours" in row ? row.retentionHours : undefined;
  // compared with this machine's clock, which may be ahead of the gateway's: a new task is never over
  const newestMs = Math.max(createdAt, Date.now());
  return { id, model, createdAt, ...(hours && { queryableUntil: newestMs + hours * 3_600_000 }) };
}
