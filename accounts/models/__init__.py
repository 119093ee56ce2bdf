from accounts.models.events import Event, action_in_words
from accounts.models.letters import Letter
from accounts.models.sessions import Lockout, Login
from accounts.models.tokens import Token
from accounts.models.users import IS_PERSON, Role, User

__all__ = ["IS_PERSON", "Event", "Letter", "Lockout", "Login", "Role", "Token", "User", "action_in_words"]
