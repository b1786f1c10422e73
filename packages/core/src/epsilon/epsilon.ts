import { assertClient } from "../base/note-options.js";
import type { Client } from "../client.js";
import { requestJSON } from "../transport/json-response.js";
import { repeatIfStored } from "../transport/repeat-stored.js";
import type { RequestOptions } from "../transport/send.js";
import { createTaskPath } from "../transport/task-path.js";
import { addHandle, ValidationError } from "../types/errors.js";

const CREATE_FIRST_CHUNK_MS = 300_000;
const QUERY_FIRST_CHUNK_MS = 60_000;

const PATHS = {
  text2video: "/epsilon/v1/videos/text2video",
  image2video: "/epsilon/v1/videos/image2video",
  "multi-image2video": "/epsilon/v1/videos/multi-image2video",
} as const;

/** Last part of the path of an `epsilon` endpoint. */
export type EpsilonRoute = keyof typeof PATHS;

/**
 * Sends a request to an `epsilon` endpoint (spec, Endpoints). The spec does not show the shapes, so `body` and the
 * response pass through as JSON, unchanged.
 *
 * The client repeats the request after a 429, which is not billed. It repeats it after other failures only behind a
 * proxy with `idempotency()`. The error's `billing` shows if the request may be billed.
 *
 * @throws {ValidationError} for another route
 * @throws {APIError} when the gateway refuses, or the response is not JSON
 * @throws {ConnectionError} | {TimeoutError} when no response came
 * @example
 * ```ts
 * const task = await createEpsilonTask(client, "text2video", { prompt: "A reef at dawn" });
 * ```
 */
export async function createEpsilonTask(
  client: Client,
  route: EpsilonRoute,
  body: unknown,
  options: RequestOptions = {},
): Promise<unknown> {
  assertClient(client);
  if (!Object.hasOwn(PATHS, route))
    throw createIssueError("route", `must be one of ${Object.keys(PATHS).join(", ")}`, "epsilon.route");
  return requestJSON(
    client,
    {
      method: "post",
      kind: "epsilon",
      path: PATHS[route],
      body() {
        if (JSON.stringify(body) === undefined)
          throw createIssueError("body", "must be JSON", "epsilon.body");
        return body;
      },
      firstChunkMs: CREATE_FIRST_CHUNK_MS,
      repeats: repeatIfStored,
      read: ({ json }) => json,
    },
    options,
  );
}

/**
 * Polls an `epsilon` task once (spec, Endpoints). Returns the response unchanged. The client repeats the request like
 * chat requests.
 *
 * @throws {ValidationError} for an invalid id
 * @throws {APIError} when the gateway refuses, or the response is not JSON
 * @throws {ConnectionError} | {TimeoutError} when no response came. All errors keep the id, in `handle`.
 * @example
 * ```ts
 * const task = await getEpsilonTask(client, "e-1");
 * ```
 */
export async function getEpsilonTask(
  client: Client,
  id: string,
  options: RequestOptions = {},
): Promise<unknown> {
  assertClient(client);
  const path = createTaskPath("/epsilon/v1/videos", id, "epsilon.task-id");
  try {
    return await requestJSON(
      client,
      {
        method: "get",
        kind: "epsilon",
        path,
        firstChunkMs: QUERY_FIRST_CHUNK_MS,
        read: ({ json }) => json,
      },
      options,
    );
  } catch (error) {
    throw addHandle(error, { id });
  }
}

function createIssueError(path: string, message: string, rule: string): ValidationError {
  return new ValidationError([{ path, message, rule }]);
}
