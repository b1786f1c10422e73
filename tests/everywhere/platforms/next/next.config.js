import { fileURLToPath } from "node:url";
/* The packages are installed one folder above. */
export default { turbopack: { root: fileURLToPath(new URL("..", import.meta.url)) } };
