import type { Client } from "@sluice/core";
import type { Prices } from "@sluice/prices";
import { useClient } from "@sluice/react";
import { lazy, Suspense, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { createPortal } from "react-dom";
import { getRecording } from "./recording.js";
import { useShadowRoot } from "./shadow-root.js";

export const Panel = lazy(async () => ({ default: (await import("./panel.js")).Panel }));

/** Props of {@link SluiceDevtools}. */
export interface SluiceDevtoolsProps {
  /** The client to show. @default the client of the nearest `GatewayProvider` */
  readonly client?: Client;
  /**
   * Prices of the app. With prices, each call shows its cost, and the list shows the sum. @default only tokens are
   * shown
   */
  readonly prices?: Prices | undefined;
  /** Opens the panel at first. @default false */
  readonly defaultOpen?: boolean;
}

/**
 * Shows the calls of a client in a panel at the edge of the page: attempts, streams, chats, tasks and usage. With `devtoolsFetch` it also shows the frames of streams, and plays faults on the running app. Nothing is sent
 * anywhere. In a production build it is empty.
 *
 * Records the last 200 calls of each client, from its first mount on.
 *
 * @throws {ConfigurationError} without `client` outside a `GatewayProvider`
 * @example
 * ```tsx
 * const client = createClient({ baseURL: "/api", fetch: devtoolsFetch() });
 * root.render(
 *   <GatewayProvider client={client}>
 *     <App />
 *     <SluiceDevtools />
 *   </GatewayProvider>,
 * );
 * ```
 */
export function SluiceDevtools({ client, ...props }: SluiceDevtoolsProps) {
  return client ? <Host client={client} {...props} /> : <HostOfProvider {...props} />;
}

type HostProps = SluiceDevtoolsProps & { readonly client: Client };

function HostOfProvider(props: Omit<HostProps, "client">) {
  return <Host client={useClient()} {...props} />;
}

function Host(props: HostProps) {
  const { client } = props;
  const root = useShadowRoot();
  useEffect(() => getRecording(client).start(), [client]);
  return root ? createPortal(<Devtools {...props} />, root) : null;
}

function Devtools({ client, prices, defaultOpen = false }: HostProps) {
  const [isOpen, setIsOpen] = useState(defaultOpen);
  const button = useRef<HTMLButtonElement>(null);
  const { subscribe, getSnapshot } = getRecording(client);
  const { calls } = useSyncExternalStore(subscribe, getSnapshot);
  const inFlight = calls.filter(({ end }) => !end).length;
  const close = () => {
    setIsOpen(false);
    button.current?.focus();
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        className="toggle"
        aria-expanded={isOpen}
        onClick={() => setIsOpen(!isOpen)}
      >
        Sluice Devtools
        {inFlight > 0 && <span className="count">{inFlight} in flight</span>}
      </button>
      {isOpen && (
        <Suspense>
          <Panel client={client} prices={prices} onClose={close} />
        </Suspense>
      )}
    </>
  );
}
