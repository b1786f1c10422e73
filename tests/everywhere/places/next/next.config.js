/* The packages are installed one folder above. */
export default { turbopack: { root: new URL("..", import.meta.url).pathname } };
