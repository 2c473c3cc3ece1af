"""Adapters: HADES as the memory of an agent framework, one thin module for each.

| framework         | module              | classes                                |
|-------------------|---------------------|----------------------------------------|
| LangGraph         | `langgraph`         | `HadesStore`                           |
| LangChain         | `langchain`         | `HadesRetriever`, `HadesChatHistory`   |
| LlamaIndex        | `llamaindex`        | `HadesNodeRetriever`, `HadesMemoryBlock` |
| OpenAI Agents SDK | `openai_agents`     | `HadesSession`                         |
| Pydantic AI       | `pydantic_ai`       | `hades_toolset`                        |
| Claude Agent SDK  | `claude_agent_sdk`  | `hades_server`                         |
| Google ADK        | `google_adk`        | `HadesMemoryService`                   |

Each takes a memory that `hades.open` returned, of this process or of a server. Items and
conversations become ordinary topics, so recall, history and time travel cover them. Nothing here
is imported by `import hades`.
"""
