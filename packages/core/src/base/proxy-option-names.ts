import type { Issue } from "../vocabulary/errors.js";
import { unknownOptions } from "./unknown-options.js";

const names = `baseURL apiKey authenticate origins credentials models allowFields routes secret rateLimit meter
  includeUsage media assetLookup extensions basePath limits onEvent health upstreamHeaders fetch`;
const limits = "bodyBytes bodyMs headersMs stallMs totalMs maxTokens pollMemoMs streamsPerUser dataURIBytes";

/** Returns an issue for each option that `createProxy` does not know. In a file of its own: a Worker has its size. */
export function unknownProxyOptions(options: object): Issue[] {
  return unknownOptions("createProxy", names, { limits, health: "asksGateway" }, options);
}
