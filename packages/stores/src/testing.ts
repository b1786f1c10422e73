export { storageTests } from "./testing/contract.js";
