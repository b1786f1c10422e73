import { networkFaults } from "./network.js";
import { objectFaults } from "./objects.js";
import { pickNth } from "./random.js";
import type { Simulation } from "./simulation.js";

/** A step of a plan, possibly a fault. */
interface Fault {
  readonly do: string;
  readonly nth: number;
}

/** Breaks the connections between pages, proxy, objects and gateway, or crashes an object. Returns false for other steps. */
export function breakConnections(
  { network, proxy }: Pick<Simulation, "network" | "proxy">,
  { do: action, nth }: Fault,
): boolean {
  switch (action) {
    case "break connection":
      network.arm(pickNth(networkFaults, nth) ?? "reset", nth % 5);
      return true;
    case "break all":
      network.breakAll();
      return true;
    case "break upstream":
      proxy?.upstream.arm(pickNth(networkFaults, nth) ?? "reset", nth % 5);
      return true;
    case "break an object's call":
      proxy?.objects.network.arm(pickNth(objectFaults, nth) ?? "reset", 0);
      return true;
    case "crash an object":
      proxy?.objects.crash(nth);
      return true;
    default:
      return false;
  }
}
