import { type Client, type ClientOptions, createClient } from "@sluice/core";

/** Environment of the commands. Keys come only from here, since other programs can see arguments. */
export interface Environment {
  /** URL of the gateway or the proxy. */
  readonly GATEWAY_URL?: string | undefined;
  /** Key of the gateway. */
  readonly GATEWAY_API_KEY?: string | undefined;
  /** Token for a proxy, which adds the gateway's key itself. */
  readonly PROXY_TOKEN?: string | undefined;
}

/** A mistake in the arguments or the environment. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

/**
 * Creates the client of a command.
 *
 * @param warn must not write to stdout, which may be data for a program
 * @throws {UsageError} without an address, and with two secrets
 */
export function connect(
  baseURL: string | undefined,
  env: Environment,
  testOptions: Partial<ClientOptions> | undefined,
  warn: (text: string) => void,
): Client {
  const { GATEWAY_URL, GATEWAY_API_KEY: key, PROXY_TOKEN: token } = env;
  const address = baseURL ?? GATEWAY_URL;
  if (!address)
    throw new UsageError(
      "Where is the gateway? Set GATEWAY_URL, or give --base-url https://gateway.example.com",
    );
  if (key && token)
    throw new UsageError("Set GATEWAY_API_KEY for the gateway, or PROXY_TOKEN for a proxy, not both.");
  const secret = key || token;
  return createClient({
    ...testOptions,
    baseURL: address,
    ...(secret && { apiKey: secret }),
    // only a proxy may know idempotency keys
    idempotencyKeys: !key,
    onEvent(event) {
      if (event.type === "warning") warn(`${event.issue.path}: ${event.issue.message}`);
    },
  });
}
