export { createEpsilonTask, type EpsilonRoute, getEpsilonTask } from "../epsilon/epsilon.js";
