import type { ProxyPlugin } from "@sluice/worker-proxy";
import { definePlugin, operation, type PluginServer } from "@sluice/worker-proxy/plugin";

/** Runs any statement in the database of a proxy through its host, because the host may have locked the file. */
export function createProbe() {
  let server: PluginServer | undefined;
  const probe = operation<{ sql: string }, readonly Record<string, unknown>[]>(
    "probe",
    ({ query }, { sql }) => query(sql),
  );
  const plugin = definePlugin<ProxyPlugin>({
    storage: { tables: [], operations: [probe] },
    connect(given) {
      server = given;
    },
  });
  const query = async (sql: string) => (await server?.host({}).run("probe", probe, { sql })) ?? [];
  return { plugin, query };
}
