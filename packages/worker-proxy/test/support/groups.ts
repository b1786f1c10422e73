import { assets, chat, epsilon, images, type ProxyOptions, videos } from "@sluice/worker-proxy";
import { definePlugin } from "@sluice/worker-proxy/plugin";

const groups = { chat, images, videos, assets, epsilon };

type Group = keyof typeof groups | NonNullable<ProxyOptions["routes"]>[number];

/** Options with the names of route groups, for JSON and tables of cases. */
export type NamedOptions<Env> = Partial<Omit<ProxyOptions<Env>, "routes">> & {
  readonly routes?: readonly Group[] | undefined;
};

/** Replaces the names of groups by the groups, and defines the plugins. */
export function findGroups<Env>({
  routes,
  plugins,
  ...options
}: NamedOptions<Env>): Partial<ProxyOptions<Env>> {
  return {
    ...options,
    ...(plugins && { plugins: plugins.map((plugin) => definePlugin(plugin)) }),
    ...(routes && { routes: routes.map((group) => (typeof group === "string" ? groups[group] : group)) }),
  };
}
