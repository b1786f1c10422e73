/* The same tests with the Web Locks of a browser. */
import "../chat-tabs.test.js";
