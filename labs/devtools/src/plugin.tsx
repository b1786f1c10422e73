import type { Client } from "@sluice/core";
import type { Prices } from "@sluice/prices";
import type { ReactElement } from "react";
import { SluiceDevtoolsPanel } from "./docked-panel.js";
import { getRecording } from "./recording.js";

/** Options of {@link sluiceDevtoolsPlugin}. */
export interface SluiceDevtoolsPluginOptions {
  /** The client to show. */
  readonly client: Client;
  /** Prices of the app, as in `<SluiceDevtools>`. @default only tokens are shown */
  readonly prices?: Prices | undefined;
}

/** A plugin of TanStack Devtools. */
export interface SluiceDevtoolsPlugin {
  /** Its id, `"sluice"`. */
  readonly id: string;
  /** Text of its tab. */
  readonly name: string;
  /** The panel. */
  readonly render: ReactElement;
}

/**
 * Creates a plugin of TanStack Devtools with the panel of `SluiceDevtools`. Starts to record at this call. In a
 * production build the panel is empty.
 *
 * @example
 * ```tsx
 * import { createClient } from "@sluice/core";
 * import { devtoolsFetch, sluiceDevtoolsPlugin } from "@sluice/devtools";
 * import { TanStackDevtools } from "@tanstack/react-devtools";
 *
 * const client = createClient({ baseURL: "/api", fetch: devtoolsFetch() });
 * const plugins = [sluiceDevtoolsPlugin({ client })];
 * export const Tools = () => <TanStackDevtools plugins={plugins} />;
 * ```
 */
export function sluiceDevtoolsPlugin({ client, prices }: SluiceDevtoolsPluginOptions): SluiceDevtoolsPlugin {
  getRecording(client).start();
  return { id: "sluice", name: "Sluice", render: <SluiceDevtoolsPanel client={client} prices={prices} /> };
}
