import { type Client, isGatewayError } from "@sluice/core";
import { createRequest, readRefusal, toConnectionError } from "@sluice/core/extend";

export async function getQuota(client: Client, signal: AbortSignal): Promise<unknown> {
  try {
    const response = await client.fetch(await createRequest(client, "/v1/quota", { signal }));
    if (!response.ok) throw await readRefusal(response, client, signal);
    return await response.json();
  } catch (error) {
    signal.throwIfAborted();
    throw isGatewayError(error) ? error : toConnectionError(error);
  }
}
