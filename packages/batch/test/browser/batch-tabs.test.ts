/* The same tests with the Web Locks of a browser. */
import "../batch-tabs.test.js";
