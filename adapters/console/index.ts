export { type ConsoleEngine, type ConsoleOptions, createConsole } from './handler.ts'
