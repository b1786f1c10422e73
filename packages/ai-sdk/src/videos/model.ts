import {
  InvalidArgumentError,
  type JSONValue,
  type Experimental_VideoModelV4OperationStatusResult as StatusResult,
  type Experimental_VideoModelV4 as VideoModelV4,
} from "@ai-sdk/provider";
import {
  type Client,
  createVideoTask,
  getVideoTask,
  type VideoTask,
  type VideoTaskHandle,
} from "@sluice/core";
import { type Call, toCallError } from "../base/call-error.js";
import { toRequestOptions } from "../base/call-options.js";
import { NAME } from "../base/provider-options.js";
import { readRequestId, type WatchedCall, watchCall } from "../base/watch-call.js";
import { toRequest } from "./request.js";

/** Path of video requests (spec, Endpoints). */
const PATH = "/v1/video/generations";

/** Creates the video model with this id. Its operation is the client's handle of the task, so both can continue it. */
export function createVideoModel(
  client: Client,
  modelId: string,
): Required<Pick<VideoModelV4, "doStart" | "doStatus">> & VideoModelV4 {
  return {
    specificationVersion: "v4",
    provider: `${NAME}.video`,
    modelId,
    maxVideosPerCall: 1,
    async doStart(options) {
      const { body, checks, warnings } = await toRequest(modelId, options);
      const call: Call = { client, path: PATH, body };
      const watched = watchCall(client);
      const requestOptions = { ...toRequestOptions(options), checks };
      const handle = await createVideoTask(watched.client, body, requestOptions).catch((error) => {
        throw toCallError(call, error);
      });
      const { createdAt = Date.now(), model = modelId } = handle;
      return {
        operation: { ...handle },
        warnings: [...warnings, ...watched.warnings],
        providerMetadata: { [NAME]: readRequestId(watched) },
        response: { timestamp: new Date(createdAt), modelId: model, headers: watched.headers },
      };
    },
    async doStatus({ operation, ...options }) {
      const handle = readHandle(operation);
      const call: Call = { client, path: `${PATH}/${handle.id}`, body: undefined, isQuery: true };
      const watched = watchCall(client);
      const task = await getVideoTask(watched.client, handle, toRequestOptions(options)).catch((error) => {
        // the video is paid, and its handle allows another query
        throw toCallError(call, error, { operation });
      });
      return toStatus(task, task.model ?? modelId, watched);
    },
  };
}

/** Validates an operation, which may come from a storage. */
function readHandle(operation: JSONValue): VideoTaskHandle {
  if (isHandle(operation)) return operation;
  throw new InvalidArgumentError({
    argument: "operation",
    message: "operation: must be what startVideo returned, { id, model, … }",
  });
}

function isHandle(operation: unknown): operation is VideoTaskHandle {
  return typeof (operation as { readonly id?: unknown } | null | undefined)?.id === "string";
}

function toStatus(task: VideoTask, modelId: string, watched: WatchedCall): StatusResult {
  const response = { timestamp: new Date(), modelId, headers: watched.headers };
  switch (task.state) {
    case "succeeded": {
      const { raw: _, ...metadata } = task;
      return {
        status: "completed",
        videos: [{ type: "url", url: task.url, mediaType: "video/mp4" }],
        warnings: [...watched.warnings],
        providerMetadata: { [NAME]: { videos: [metadata], ...readRequestId(watched) } },
        response,
      };
    }
    case "failed":
      return {
        status: "error",
        error: `the video task failed: ${task.reason ?? "the gateway gives no reason"}`,
        response,
      };
    default: {
      const { state, progress } = task;
      return {
        status: "pending",
        providerMetadata: {
          [NAME]: { state, ...(progress !== undefined && { progress }), ...readRequestId(watched) },
        },
        response,
      };
    }
  }
}
