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
import { type Call, callErrorOf } from "../base/call-error.js";
import { requestOptionsOf } from "../base/call-options.js";
import { NAME } from "../base/provider-options.js";
import { requestIdIn, type WatchedCall, watchCall } from "../base/watch-call.js";
import { requestOf } from "./request.js";

/** Path of video requests (spec, Endpoints). */
const PATH = "/v1/video/generations";

/** Creates the video model with an id. Its operation is the client's handle of the task, so both can continue it. */
export function videoModelFor(
  client: Client,
  modelId: string,
): Required<Pick<VideoModelV4, "doStart" | "doStatus">> & VideoModelV4 {
  return {
    specificationVersion: "v4",
    provider: `${NAME}.video`,
    modelId,
    maxVideosPerCall: 1,
    async doStart(options) {
      const { body, checks, warnings } = await requestOf(modelId, options);
      const call: Call = { client, path: PATH, body };
      const watched = watchCall(client);
      const sent = createVideoTask(watched.client, body, { ...requestOptionsOf(options), checks });
      const handle: VideoTaskHandle = await sent.catch((error) => {
        throw callErrorOf(call, error);
      });
      const { createdAt = Date.now(), model = modelId } = handle;
      return {
        operation: { ...handle },
        warnings: [...warnings, ...watched.warnings],
        providerMetadata: { [NAME]: requestIdIn(watched) },
        response: { timestamp: new Date(createdAt), modelId: model, headers: watched.headers },
      };
    },
    async doStatus({ operation, ...options }) {
      const handle = handleOf(operation);
      const call: Call = { client, path: `${PATH}/${handle.id}`, body: undefined, isQuery: true };
      const watched = watchCall(client);
      const task = await getVideoTask(watched.client, handle, requestOptionsOf(options)).catch((error) => {
        // the film is paid: whoever has the handle can ask again
        throw callErrorOf(call, error, { operation });
      });
      return statusOf(task, task.model ?? modelId, watched);
    },
  };
}

/** Reads an operation, also of a storage. */
function handleOf(operation: JSONValue): VideoTaskHandle {
  if (isReference(operation)) return operation;
  throw new InvalidArgumentError({
    argument: "operation",
    message: "operation: must be what startVideo returned, { id, model, … }",
  });
}

function isReference(operation: unknown): operation is VideoTaskHandle {
  return typeof (operation as { readonly id?: unknown } | null | undefined)?.id === "string";
}

function statusOf(task: VideoTask, modelId: string, watched: WatchedCall): StatusResult {
  const response = { timestamp: new Date(), modelId, headers: watched.headers };
  switch (task.state) {
    case "succeeded": {
      const { raw: _, ...facts } = task;
      return {
        status: "completed",
        videos: [{ type: "url", url: task.url, mediaType: "video/mp4" }],
        warnings: [...watched.warnings],
        providerMetadata: { [NAME]: { videos: [facts], ...requestIdIn(watched) } },
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
          [NAME]: { state, ...(progress !== undefined && { progress }), ...requestIdIn(watched) },
        },
        response,
      };
    }
  }
}
