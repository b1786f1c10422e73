import { type Client, ConfigurationError } from "@sluice/core";
import { createContext, type ReactNode, useContext, useEffect, useRef } from "react";
import { noteReplacedClient } from "./note-replaced-client.js";

declare const process: { readonly env: { readonly NODE_ENV?: string } };

const ClientContext = createContext<Client | undefined>(undefined);

/**
 * Provides the client to every hook below it.
 *
 * @example
 * ```tsx
 * const client = createClient({ baseURL: "/api" });
 * root.render(<GatewayProvider client={client}><App /></GatewayProvider>);
 * ```
 */
export function GatewayProvider({
  client,
  children,
}: {
  /** The client of every hook below. Create it once, outside of components. */
  client: Client;
  /** The part of the app that uses the hooks. */
  children?: ReactNode;
}) {
  const previousClient = useRef(client);
  useEffect(() => {
    noteReplacedClient(previousClient.current, client);
    previousClient.current = client;
  }, [client]);
  return <ClientContext.Provider value={client}>{children}</ClientContext.Provider>;
}

/** Returns the client of the nearest {@link GatewayProvider}; undefined outside of one. */
export function useClientIfAny(): Client | undefined {
  return useContext(ClientContext);
}

/**
 * Returns the client of the nearest {@link GatewayProvider}.
 *
 * @throws {ConfigurationError} in development, outside a `GatewayProvider`
 * @example
 * ```tsx
 * function AskButton() {
 *   const client = useClient();
 *   const ask = () => completeChat(client, { model: "delta-5.3", messages: [{ role: "user", content: "Hello" }] });
 *   return <button onClick={ask}>Ask</button>;
 * }
 * ```
 */
export function useClient(): Client {
  const client = useClientIfAny();
  assertProvided(client);
  return client;
}

/** @throws {ConfigurationError} in development, without a client, or with its options in place of the client */
function assertProvided(client: Client | undefined): asserts client is Client {
  try {
    if (process.env.NODE_ENV === "production") return;
  } catch {
    return;
  }
  if (typeof client?.warn !== "function")
    throw new ConfigurationError("no client: wrap the app in <GatewayProvider client={createClient({ … })}>");
}
