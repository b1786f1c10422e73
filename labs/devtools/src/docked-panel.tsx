import type { Client } from "@sluice/core";
import { useClient } from "@sluice/react";
import { Suspense, useEffect, useRef } from "react";
import { createPortal } from "react-dom";
import type { CallsViewProps } from "./calls-view.js";
import { Panel, type SluiceDevtoolsProps } from "./devtools.js";
import { getRecording } from "./recording.js";
import { useShadowRoot } from "./shadow-root.js";

/** Props of {@link SluiceDevtoolsPanel}. */
export interface SluiceDevtoolsPanelProps
  extends Omit<SluiceDevtoolsProps, "defaultOpen">,
    Pick<CallsViewProps, "onShowMessage" | "messageId"> {}

/**
 * The panel of `SluiceDevtools` as a part of the page. It fills its parent. The recording starts with its first mount.
 *
 * @throws {ConfigurationError} without `client` outside a `GatewayProvider`
 * @example
 * ```tsx
 * <aside style={{ height: "100vh" }}>
 *   <SluiceDevtoolsPanel />
 * </aside>
 * ```
 */
export function SluiceDevtoolsPanel({ client, ...props }: SluiceDevtoolsPanelProps) {
  return client ? <DockedPanel client={client} {...props} /> : <PanelOfProvider {...props} />;
}

type DockedProps = SluiceDevtoolsPanelProps & { readonly client: Client };

function PanelOfProvider(props: Omit<DockedProps, "client">) {
  return <DockedPanel client={useClient()} {...props} />;
}

function DockedPanel({ client, ...props }: DockedProps) {
  const container = useRef<HTMLDivElement>(null);
  const root = useShadowRoot(container);
  useEffect(() => getRecording(client).start(), [client]);
  const panel = (
    <Suspense>
      <Panel client={client} {...props} />
    </Suspense>
  );
  return (
    <div ref={container} style={{ height: "100%" }}>
      {root && createPortal(panel, root)}
    </div>
  );
}
