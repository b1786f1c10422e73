import type { Client } from "@sluice/core";
import { sendRequest } from "@sluice/core/extend";

export function getQuota(client: Client, signal: AbortSignal): Promise<unknown> {
  return sendRequest(client, "/v1/quota", { signal }, (response) => response.json());
}
