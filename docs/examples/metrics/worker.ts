import { createProxy, events, health, type ProxyEvent } from "@sluice/worker-proxy";
import { options, type Env as ProxyEnv } from "./options.ts"; // the options of your proxy

interface Env extends ProxyEnv {
  EVENTS: { writeDataPoint(point: { indexes: string[]; blobs: string[]; doubles: number[] }): void };
}

function writeEvent(event: ProxyEvent, env: Env): void {
  const { type, outcome, code, model, requestId, usage, spent, durationMs } = event;
  const { route, status, firstByteMs } = event.type === "request" ? event : {};
  const texts = [type, outcome, code, model, route, requestId];
  const numbers = [status, firstByteMs, durationMs, usage?.["total_tokens"], spent];
  env.EVENTS.writeDataPoint({
    indexes: [type],
    blobs: texts.map((text) => (text ?? "").slice(0, 256)),
    doubles: numbers.map((number) => Number(number) || 0),
  });
}
const checkBinding = ({ EVENTS }: Env) => {
  if (!EVENTS) throw new Error("EVENTS: the binding is missing");
};

export default createProxy<Env>({
  ...options,
  // `GET /health` runs the checks
  plugins: [health<Env>(), events<Env>(Object.assign(writeEvent, { checks: [checkBinding] }))],
});
