-- For Lmod, as rankwise/0.2.0.lua in a folder of MODULEPATH. The environment that it is of is made by:
--     python3 -m venv /opt/rankwise/0.2.0 && /opt/rankwise/0.2.0/bin/pip install rankwise
--     mkdir /opt/rankwise/0.2.0/command && ln -s ../bin/rankwise /opt/rankwise/0.2.0/command/
help([[rankwise: how fast a program's communication can be on a machine, why, and what to change.
First: rankwise doctor, rankwise quick]])
whatis("Name: rankwise")
whatis("Version: 0.2.0")
whatis("Description: Measures, models, maps and explains the communication of MPI programs")
whatis("URL: https://example.org/rankwise")

local root = "/opt/rankwise/0.2.0"

-- The command alone, not the environment's python and pip; the MPI is that of the modules that are loaded.
prepend_path("PATH", pathJoin(root, "command"))
setenv("RANKWISE_MPI", "system")
prepend_path("PKG_CONFIG_PATH", pathJoin(root, "lib/pkgconfig"))
prepend_path("CMAKE_PREFIX_PATH", root)
