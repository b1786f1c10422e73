// For the other packages of this repository only. Apps must not import it: it may change in any version.

export { systemClock } from "./base/clock.js";
export { createRegistry, type Registry } from "./base/store.js";
