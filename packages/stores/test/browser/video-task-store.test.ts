/* The same tests with the Web Locks and BroadcastChannel of a browser. */
import "../video-task-store.test.js";
