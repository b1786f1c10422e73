export { fileStorage } from "./node/file-storage.js";
