import { ensure, type PluginServer } from "@sluice/worker-proxy/plugin";

/** Stores the server that a proxy connects a plugin to. A plugin belongs to one proxy. */
export function connectOnce<Env>(plugin: string) {
  let connected: PluginServer<Env> | undefined;
  return {
    connect(server: PluginServer<Env>): void {
      ensure(!connected, `${plugin}: belongs to one proxy; make another one`);
      connected = server;
    },
    /** @throws {TypeError} for a plugin without a proxy */
    getServer(): PluginServer<Env> {
      ensure(connected, `${plugin}: give it to createProxy({ plugins })`);
      return connected;
    },
  };
}
