import { type Client, ConfigurationError } from "@sluice/core";
import { lazy, Suspense, useEffect, useRef, useState, useSyncExternalStore } from "react";
import { createPortal } from "react-dom";
import { useClientIfAny } from "../provider.js";
import { useIsHydrated } from "../use-is-hydrated.js";
import { recordingOf } from "./recording.js";
import { styles } from "./styles.js";

const Panel = lazy(async () => ({ default: (await import("./panel.js")).Panel }));

/** Props of {@link SluiceDevtools}. */
export interface SluiceDevtoolsProps {
  /** The client to show. @default the client of the nearest `GatewayProvider` */
  readonly client?: Client;
  /** True opens the panel at first. @default false */
  readonly defaultOpen?: boolean;
}

/**
 * Shows the calls of a client in a panel at the edge of the page: attempts, streams, chats, tasks, locks, storage
 * and usage. With `devtoolsFetch` it also shows the frames of streams, and plays faults on the running app. Nothing is
 * sent anywhere. In a production build it is empty.
 *
 * It records from its first mount on: the last 200 calls of each client.
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
export function SluiceDevtools({ client, defaultOpen = false }: SluiceDevtoolsProps) {
  const provided = useClientIfAny();
  const shown = client ?? provided;
  if (!shown)
    throw new ConfigurationError("no client: give <SluiceDevtools client={…}>, or a GatewayProvider");
  const root = useShadowRoot();
  useEffect(() => recordingOf(shown).start(), [shown]);
  return root ? createPortal(<Devtools client={shown} defaultOpen={defaultOpen} />, root) : null;
}

function Devtools({ client, defaultOpen }: Required<SluiceDevtoolsProps>) {
  const [isOpen, setIsOpen] = useState(defaultOpen);
  const button = useRef<HTMLButtonElement>(null);
  const { subscribe, getSnapshot } = recordingOf(client);
  const { calls } = useSyncExternalStore(subscribe, getSnapshot);
  const open = calls.filter(({ end }) => !end).length;
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
        {open > 0 && <span className="count">{open} in flight</span>}
      </button>
      {isOpen && (
        <Suspense>
          <Panel client={client} onClose={close} />
        </Suspense>
      )}
    </>
  );
}

/** Returns a shadow root at the end of the page; undefined on a server and while the page hydrates. */
function useShadowRoot(): ShadowRoot | undefined {
  const isHydrated = useIsHydrated();
  const [root] = useState(createShadowRoot);
  useEffect(() => {
    if (!root) return;
    document.body.append(root.host);
    return () => root.host.remove();
  }, [root]);
  return isHydrated ? root : undefined;
}

function createShadowRoot(): ShadowRoot | undefined {
  if (typeof document === "undefined") return undefined;
  const root = document.createElement("sluice-devtools").attachShadow({ mode: "open" });
  // a sheet that a script makes is allowed under `style-src 'self'`
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(styles);
  root.adoptedStyleSheets = [sheet];
  return root;
}
