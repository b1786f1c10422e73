import type { Issue } from "../vocabulary/errors.js";
import { unknownOptions } from "./unknown-options.js";

const names = `baseURL apiKey authenticate origins credentials models allowFields routes secret rateLimit meter
  includeUsage adaptJSONSchema media assetLookup extensions basePath limits onEvent health upstreamHeaders traceparent fetch`;
const limits = "bodyBytes bodyMs headersMs stallMs totalMs maxTokens pollMemoMs streamsPerUser dataURIBytes";

const instead = {
  cors: "give `origins`",
  allowedOrigins: "give `origins`",
  allowedModels: "give `models`",
  auth: "give `authenticate`",
  key: "give `apiKey`",
  target: "give `baseURL`",
  upstream: "give `baseURL`",
  timeout: "give `limits: { totalMs }`",
};

/** Returns an issue for each option that `createProxy` does not know. In a file of its own: a Worker has its size. */
export function unknownProxyOptions(options: object): Issue[] {
  const nested = { limits, health: "asksGateway" };
  return unknownOptions("createProxy", { names, path: "createProxy", nested, instead }, options);
}
